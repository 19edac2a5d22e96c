package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/debug"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
)

// debugPages returns the pages of a service and its connection.
func debugPages(s *server.Service, queues func() wire.Queues) []debug.Page {
	return []debug.Page{
		{Path: "/sessions", About: "the open sessions", Write: func(w io.Writer) { writeSessions(w, s.Inspect()) }},
		{Path: "/queues", About: "turns that run and wait, and messages that wait", Write: func(w io.Writer) {
			writeQueues(w, queues(), s.Inspect())
		}},
	}
}

func writeSessions(w io.Writer, open []server.SessionState) {
	if len(open) == 0 {
		fmt.Fprintln(w, "No session is open.")
	}
	for _, x := range open {
		fmt.Fprintf(w, "%s\n  opened %s ago, last changed %s ago\n  works in %s\n", x.ID, since(x.Opened), since(x.Updated), x.Cwd)
		if len(x.Folders) > 0 {
			fmt.Fprintf(w, "  further folders: %s\n", strings.Join(x.Folders, ", "))
		}
		if x.Editor != "" {
			fmt.Fprintf(w, "  editor: %s\n", x.Editor)
		}
		if x.Model != "" {
			fmt.Fprintf(w, "  chosen model: %s\n", x.Model)
		}
		fmt.Fprintf(w, "  mode %s, history in memory: %t, %s\n", x.Mode, x.Loaded, amount.Plural(len(x.Queue), "turn"))
	}
}

func writeQueues(w io.Writer, q wire.Queues, open []server.SessionState) {
	fmt.Fprintf(w, "to the client, messages that wait to be written: %d (%d bytes), behind an unread response: %d\n", q.Messages, q.Bytes, q.Held)
	fmt.Fprintf(w, "of the client, requests that run or wait: %d\n\n", q.Requests)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "session\tplace\tkind\tstate\tfor")
	for _, x := range open {
		for i, turn := range x.Queue {
			kind, state := "prompt", "waits"
			if turn.Replay {
				kind = "alone"
			}
			if turn.Running {
				state = "runs"
			}
			if turn.Cancelled {
				state += ", cancelled"
			}
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", x.ID, i+1, kind, state, since(turn.Since))
		}
	}
	_ = t.Flush() // it fails only if the reader has closed the connection
}

func since(t time.Time) time.Duration { return time.Since(t).Round(time.Millisecond) }

// countEvent counts the tool calls and subagents of a turn.
func countEvent(m *debug.Meter, session string, e agent.Event) {
	switch e := e.(type) {
	case agent.ChildEvent:
		countEvent(m, e.SessionID, e.Event)
	case agent.CallStarted:
		m.Begin(debug.ToolCall, session+":"+e.Call.ID, e.Call.Name)
	case agent.CallEnded:
		m.End(debug.ToolCall, session+":"+e.Call.ID)
		m.Count("tool calls", len(e.Result.JSON))
	case agent.ChildStarted:
		m.Begin(debug.Subagent, e.SessionID, "subagent")
	case agent.ChildEnded:
		m.End(debug.Subagent, e.SessionID)
		m.Count("subagents", 0)
	}
}

// meteredModel counts the requests of a model and reports the running requests to the meter.
type meteredModel struct {
	model.Model
	meter *debug.Meter
	last  *atomic.Int64 // id of a request
}

func (m *meteredModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		id := strconv.FormatInt(m.last.Add(1), 10)
		m.meter.Begin(debug.ModelRequest, id, "request")
		defer m.meter.End(debug.ModelRequest, id)
		m.meter.Count("model requests", 0)
		for d, err := range m.Model.Stream(ctx, req) {
			if err != nil {
				m.meter.Count("model requests that failed", 0)
			}
			if d.Usage != nil {
				m.meter.Add("tokens of requests", d.Usage.Input)
				m.meter.Add("tokens of responses", d.Usage.Output)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

var _ model.Wrapper = (*meteredModel)(nil)

// Unwrap implements [model.Wrapper].
func (m *meteredModel) Unwrap() model.Model { return m.Model }
