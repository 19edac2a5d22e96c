package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	commands "github.com/hermes-ls/hermes-ls/tools/shell"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// terminalHost is the host of a session at a terminal. It writes the answer to out, and
// progress and questions to progress. It removes control characters from both. Otherwise a
// model could hide a question, or write to the clipboard.
type terminalHost struct {
	out, progress io.Writer
	in            *bufio.Reader // nil: no user can answer
	typing        sync.Once     // starts the goroutine reading in
	typed         chan string   // lines of in
	json          bool
	always        bool   // every action is approved, except if it requires a user in every mode
	cwd           string // paths below it are shown relative to it

	mu       sync.Mutex // guards the output and the fields below; subagents send events from other goroutines
	answered bool       // some text was written
	refused  bool       // a slash command was not done
	midLine  bool       // the last line of out is not complete
	asking   bool       // a question waits for its answer
	calls    runningCalls
}

func newTerminalHost(cmd *cobra.Command, flags runFlags) *terminalHost {
	h := &terminalHost{out: shownOn(cmd.OutOrStdout()), progress: harmless{cmd.ErrOrStderr()}, json: flags.json, always: flags.approve == "always", calls: runningCalls{}}
	if !flags.json {
		h.out = harmless{h.out}
	}
	if canAsk(flags) {
		h.in = bufio.NewReader(os.Stdin)
	}
	return h
}

func (h *terminalHost) Documents(string) workspace.Documents { return nil }
func (h *terminalHost) Terminals(string) commands.Terminals  { return nil }
func (h *terminalHost) Sink(string) agent.Sink               { return h }

// Event prints an event as text, or as a JSON object per line.
func (h *terminalHost) Event(e agent.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text, ok := e.(agent.Text); ok && text.Text != "" {
		h.answered, h.refused = true, h.refused || text.Failed
	}
	if h.json {
		if line := jsonEvent(e); line != nil {
			h.emit(line)
		}
		return
	}
	switch e := e.(type) {
	case agent.Text:
		fmt.Fprint(h.out, e.Text)
		h.midLine = !strings.HasSuffix(e.Text, "\n")
	case agent.CallStarted:
		h.started("", e)
	case agent.CallEnded:
		h.finished("", e)
	case agent.TurnSummary:
		h.endLine()
		fmt.Fprintf(h.progress, "%s\n", e.Text)
	case agent.Notice:
		h.endLine()
		fmt.Fprintf(h.progress, "%s\n", tools.WithoutControls(e.String()))
	case agent.Compaction:
		if text := e.String(); text != "" {
			h.endLine()
			fmt.Fprintln(h.progress, text)
		}
	case agent.ChildStarted:
		h.endLine()
		fmt.Fprintf(h.progress, "▸ subagent: %s\n", shorten.FirstLine(e.Goal))
	case agent.ChildEvent:
		switch call := e.Event.(type) {
		case agent.CallStarted:
			h.started(e.SessionID, call)
		case agent.CallEnded:
			h.finished(e.SessionID, call)
		}
	case agent.ChildEnded:
		h.endLine()
		fmt.Fprintf(h.progress, "▪ subagent %s: %s\n", e.Status, shorten.FirstLine(e.Goal))
	}
}

func (h *terminalHost) endLine() {
	if h.midLine {
		fmt.Fprintln(h.out)
		h.midLine = false
	}
}

func (h *terminalHost) emit(v any) {
	data, err := cli.Encode(v)
	if err != nil {
		data = []byte(`{"type":"error","message":"an event could not be written"}`)
	}
	fmt.Fprintf(h.out, "%s\n", data)
}

// ended ends the output of an answered or stopped run.
func (h *terminalHost) ended(id string, reason agent.StopReason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLine()
	h.stopCalls()
	if h.json {
		h.emit(map[string]any{"type": "end", "sessionId": id, "stopReason": reason})
	}
}

func (h *terminalHost) failed(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endLine()
	h.stopCalls()
	if h.json {
		h.emit(map[string]any{"type": "error", "message": err.Error()})
	}
	return err
}

// jsonEvent returns an event in the form of `run --json`. If the event is not printed, it
// returns nil.
func jsonEvent(e agent.Event) map[string]any {
	switch e := e.(type) {
	case agent.Text:
		return map[string]any{"type": "text", "messageId": e.MessageID, "text": tools.WithoutControls(e.Text)}
	case agent.Thought:
		return map[string]any{"type": "thought", "messageId": e.MessageID, "text": tools.WithoutControls(e.Text)}
	case agent.CallStarted:
		return map[string]any{"type": "tool_call", "id": e.Call.ID, "tool": e.Call.Name, "title": e.Title, "arguments": e.Call.Args}
	case agent.CallEnded:
		return map[string]any{"type": "tool_result", "id": e.Call.ID, "tool": e.Call.Name, "isError": e.Result.IsError,
			"result": e.Result.JSON, "durationMs": e.Duration.Milliseconds()}
	case agent.PlanChanged:
		return map[string]any{"type": "plan", "todos": e.Todos}
	case agent.UsageChanged:
		return map[string]any{"type": "usage", "requests": e.Requests, "total": e.Total, "used": e.Used, "window": e.Window}
	case agent.TitleChanged:
		return map[string]any{"type": "title", "title": e.Title}
	case agent.TurnSummary:
		return map[string]any{"type": "summary", "brief": e.Brief, "text": e.Text}
	case agent.Notice:
		if e.More != "" {
			return map[string]any{"type": "notice", "text": e.Text, "more": e.More}
		}
		return map[string]any{"type": "notice", "text": e.Text}
	case agent.Compaction:
		return map[string]any{"type": "compaction", "status": e.Status, "before": e.Before, "after": e.After, "summary": e.Summary, "error": e.Error}
	case agent.ChildStarted:
		return map[string]any{"type": "subagent_started", "sessionId": e.SessionID, "goal": e.Goal, "model": e.Model}
	case agent.ChildEnded:
		return map[string]any{"type": "subagent_ended", "sessionId": e.SessionID, "goal": e.Goal, "status": e.Status, "summary": e.Summary}
	}
	return nil
}

// AskPermission asks for approval at the terminal. An empty line does not approve.
func (h *terminalHost) AskPermission(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	if h.in == nil && len(q.Choices) > 0 {
		return "", &gate.Unanswered{Why: "no user is present to choose"}
	}
	if h.in == nil {
		if h.always { // the request requires a user in every mode
			fmt.Fprintf(h.progress, "not approved, because it needs a user in every mode: %s (%s)\n", q.Title, q.Reason)
			return tools.DecisionDeny, &gate.Unanswered{Why: "no user is present to approve it, and it needs one in every mode", How: "do it in an editor, or run hermes-ls on a terminal"}
		}
		fmt.Fprintf(h.progress, "not approved, because no user can be asked: %s (%s); --approve always lets it run\n", q.Title, q.Reason)
		how := "run hermes-ls with --approve always"
		if len(q.Keys) > 0 {
			how += ", or add " + gate.Entries(q.Keys) + " to command_allowlist in config.yaml"
		}
		return tools.DecisionDeny, &gate.Unanswered{Why: "no user is present to approve it", How: how}
	}
	h.mu.Lock()
	h.endLine()
	if q.For != "" {
		fmt.Fprintf(h.progress, "\nThe subagent “%s” asks:", escape.Line(q.For))
	}
	remembering := ""
	if q.Remember != "" {
		remembering = fmt.Sprintf(", session (remembers %q)", q.Remember)
	}
	if q.Remember != "" && len(q.Keys) > 0 {
		remembering = fmt.Sprintf(", session or always (remembers %q)", q.Remember)
	}
	if len(q.Choices) > 0 {
		text := q.Text
		if text == "" {
			text = q.Title + "\n  This " + q.Reason + "."
		}
		fmt.Fprintf(h.progress, "\n%s\n\n", escape.Text(text))
		for _, c := range q.Choices {
			fmt.Fprintf(h.progress, "  %s: %s\n", c.ID, c.Label)
		}
	} else {
		text := strings.TrimSpace(q.Text + "\n" + q.Title)
		if len(q.Edits) > 0 {
			text += "\n" + gate.EditText(q.Edits)
		}
		fmt.Fprintf(h.progress, "\n%s\n  %s\n  once%s, no (or no and a reason)? ", text, q.Reason, remembering)
	}
	h.mu.Unlock()
	line, err := h.line(ctx)
	if err != nil {
		return tools.DecisionDeny, err
	}
	if c, ok := q.Choice(line); ok {
		return c.ID, nil
	}
	for _, c := range q.Options() {
		if string(c.ID) == line {
			return c.ID, nil
		}
	}
	if reason, ok := strings.CutPrefix(line, "no "); ok && strings.TrimSpace(reason) != "" {
		return tools.DecisionDeny, &tools.Denied{Reason: strings.TrimLeft(reason, " :,")}
	}
	return tools.DecisionDeny, nil
}
