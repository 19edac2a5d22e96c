package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Sink turns the events of a session into session/update.
func (c *Client) Sink(sessionID string) agent.Sink { return &sink{client: c, session: sessionID} }

// EchoSink is a Sink that also shows the messages of the user, for a turn not started by the
// client.
func (c *Client) EchoSink(sessionID string) agent.Sink {
	return &sink{client: c, session: sessionID, echo: true}
}

// replaySink shows a stored history.
func (c *Client) replaySink(sessionID string) agent.Sink {
	return &sink{client: c, session: sessionID, echo: true, past: true}
}

type sink struct {
	client  *Client
	session string
	echo    bool // messages of the user are shown, too
	past    bool // the events come from stored history

	children subagents // running subagents
}

// Event queues the update for e. It waits only if the client does not read and megabytes
// are queued. Errors are dropped: the turn does not depend on the client.
func (s *sink) Event(e agent.Event) {
	switch e := e.(type) {
	case agent.Text:
		s.chunk(acp.UpdateAgentMessage, e.MessageID, e.Text)
	case agent.Thought:
		s.chunk(acp.UpdateAgentThought, e.MessageID, e.Text)
	case agent.UserMessage:
		if s.echo {
			s.userMessage(e)
		}
	case agent.CallStarted:
		s.post(started(e))
	case agent.CallProgress:
		s.post(progressed(e))
	case agent.CallEnded:
		s.post(ended(e))
	case agent.PlanChanged:
		s.post(plan(e.Todos))
	case agent.UsageChanged:
		s.post(usage(e))
	case agent.TitleChanged:
		s.title(e.Title)
	case agent.Rewound:
		s.post(&acp.InfoUpdate{SessionUpdate: acp.UpdateInfo, Meta: acp.Meta{"hermes": map[string]any{"rewound": acp.Rewound(e)}}})
	case agent.Compaction:
		s.compaction(e)
	case agent.ChildStarted:
		s.childStarted(e)
	case agent.ChildEvent:
		s.childEvent(e)
	case agent.ChildEnded:
		s.childEnded(e)
	case agent.TurnSummary:
		s.notice(agent.Notice{Text: e.Text})
	case agent.Notice:
		s.notice(e)
	}
}

// replayAhead limits the queued bytes of a replay, because updates of other sessions follow
// them.
const replayAhead = 1 << 20

// Pace makes a sink an [agent.Pacer].
func (s *sink) Pace(ctx context.Context) error { return s.client.peer.Drain(ctx, replayAhead) }

func (s *sink) post(u acp.Update) { s.client.update(s.session, u) }

func (s *sink) chunk(kind, messageID, text string) {
	n := &chunk{session: s.session, kind: kind, message: messageID, text: []byte(tools.WithoutControls(text))}
	_ = s.client.peer.Post(s.session, n)
}

// update queues an update of any kind.
func (c *Client) update(session string, u acp.Update) {
	_ = c.peer.Post(session, &note{session: session, update: u})
}

func (s *sink) userMessage(e agent.UserMessage) {
	if e.Text != "" {
		s.chunk(acp.UpdateUserMessage, e.MessageID, e.Text)
	}
	for _, i := range e.Images {
		s.post(&acp.ContentChunk{
			SessionUpdate: acp.UpdateUserMessage, MessageID: e.MessageID,
			Content: acp.ContentBlock{Type: acp.ContentImage, MIMEType: i.MIMEType, Data: i.Data},
		})
	}
}

func (s *sink) title(title string) {
	u := &acp.InfoUpdate{SessionUpdate: acp.UpdateInfo, Title: title}
	if !s.past {
		u.UpdatedAt = time.Now().UTC().Format(time.RFC3339)
	}
	s.post(u)
}

// notice sends a notice. If the client shows no notices, it is sent as a thought, because it is not
// a part of the answer. Its _meta marks it as a notice and not a thought of the model.
func (s *sink) notice(e agent.Notice) {
	if c := s.client.can.Load(); c.Session != nil && c.Session.Notices != nil {
		u := &acp.Notice{SessionUpdate: acp.UpdateNotice, Severity: "info", Title: e.Text, Description: e.More}
		meta := map[string]any{}
		if len(e.Offers) > 0 {
			meta["offers"] = e.Offers
		}
		if e.Own != nil {
			meta["event"] = e.Own
		}
		if len(meta) > 0 {
			u.Meta = acp.Meta{"hermes": meta}
		}
		s.post(u)
		return
	}
	meta := map[string]any{"notice": true}
	if e.Own != nil {
		meta["event"] = e.Own
	}
	s.post(&acp.ContentChunk{
		SessionUpdate: acp.UpdateAgentThought, Content: acp.ContentBlock{Type: acp.ContentText, Text: tools.WithoutControls(e.String()) + "\n"},
		Meta: acp.Meta{"hermes": meta},
	})
}

// compaction sends a compaction. If the client shows none, it is a notice.
func (s *sink) compaction(e agent.Compaction) {
	if c := s.client.can.Load(); c.Session == nil || c.Session.Compaction == nil {
		if text := e.String(); text != "" {
			s.notice(agent.Notice{Text: text})
		}
		return
	}
	u := &acp.CompactionUpdate{SessionUpdate: acp.UpdateCompaction, CompactionID: e.ID, Status: string(e.Status), Error: e.Error}
	if e.Summary != "" {
		u.Summary = []acp.ContentBlock{acp.Text(e.Summary)}
	}
	s.post(u)
}

// unnamedTitle is the title of a tool call without a name. The protocol requires a title.
const unnamedTitle = "Tool call without a name"

func started(e agent.CallStarted) *acp.ToolCall {
	return &acp.ToolCall{
		SessionUpdate: acp.UpdateToolCall, ToolCallID: e.Call.ID, Title: escape.Text(cmp.Or(e.Title, unnamedTitle)), Name: escape.Text(e.Call.Name),
		Kind: acp.ToolKind(e.Kind), Status: acp.StatusPending,
		Locations: locations(e.Locations), RawInput: input(e.Call.Args),
	}
}

func progressed(e agent.CallProgress) *acp.ToolCall {
	u := &acp.ToolCall{SessionUpdate: acp.UpdateToolCallNews, ToolCallID: e.CallID, Status: acp.StatusInProgress}
	u.Content, u.Locations = contents(e.Shown)
	if message := cmp.Or(e.Line, e.Message); message != "" {
		u.Meta = acp.Meta{"hermes": map[string]string{"message": message}}
	}
	return u
}

func ended(e agent.CallEnded) *acp.ToolCall {
	u := &acp.ToolCall{
		SessionUpdate: acp.UpdateToolCallNews, ToolCallID: e.Call.ID,
		Status: acp.StatusCompleted, RawOutput: object(e.Result.JSON),
	}
	if e.Result.IsError {
		u.Status = acp.StatusFailed
	}
	u.Content, u.Locations = contents(e.Result.Shown)
	if calls := innerCalls(e.Result.Shown); calls != nil {
		u.Meta = acp.Meta{"hermes": map[string]any{"sandbox_tool_calls": calls}}
	}
	if u.Content == nil {
		if text := resultText(e.Result.JSON); text != "" {
			u.Content = []acp.ToolCallContent{acp.TextContent(text)}
		}
	}
	for _, i := range e.Result.Images {
		picture := acp.ContentBlock{Type: acp.ContentImage, MIMEType: i.MIMEType, Data: base64.StdEncoding.EncodeToString(i.Data)}
		u.Content = append(u.Content, acp.ToolCallContent{Type: "content", Content: &picture})
	}
	return u
}

// resultText returns the text of a tool result without content to show. It can have names that a model
// made up, and output of commands, so it comes without controls.
func resultText(result json.RawMessage) string {
	var r struct{ Error, Output, Content string }
	if json.Unmarshal(result, &r) != nil {
		return "" // its output is not a text
	}
	return tools.WithoutControls(cmp.Or(r.Error, r.Output, r.Content))
}

func contents(shown []tools.Content) (content []acp.ToolCallContent, places []acp.ToolCallLocation) {
	for _, c := range shown {
		switch {
		case c.Diff != nil:
			content = append(content, acp.DiffContent(escape.Text(c.Diff.Path), c.Diff.Old, c.Diff.New))
		case c.Terminal != "":
			content = append(content, acp.TerminalContent(c.Terminal))
		case c.Text != "":
			content = append(content, acp.TextContent(c.Text))
		}
		if c.Location != nil {
			places = append(places, locations([]tools.Location{*c.Location})...)
		}
	}
	return content, places
}

// innerCalls returns the tool calls of a script.
func innerCalls(shown []tools.Content) []*tools.Inner {
	var calls []*tools.Inner
	for _, c := range shown {
		if c.Inner != nil {
			calls = append(calls, c.Inner)
		}
	}
	return calls
}

// locations returns the locations without files whose names have invisible characters, such
// as an escape sequence, because editors would show the name.
func locations(places []tools.Location) []acp.ToolCallLocation {
	var out []acp.ToolCallLocation
	for _, p := range places {
		if escape.Text(p.Path) == p.Path && !strings.ContainsAny(p.Path, "\n\t") {
			out = append(out, acp.ToolCallLocation(p))
		}
	}
	return out
}

// input returns the arguments of a tool call for display. Characters are written as their code if
// they are invisible, control a terminal, or reorder text.
func input(raw json.RawMessage) json.RawMessage {
	raw = object(raw)
	if !bytes.ContainsFunc(raw, func(r rune) bool { return r == '\\' || r > '~' }) {
		return raw
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return raw
	}
	value, changed := shown(value)
	if !changed {
		return raw
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return encoded
}

// shown replaces such characters in the texts of a JSON value. It reports whether a text has changed.
func shown(value any) (any, bool) {
	changed := false
	switch v := value.(type) {
	case string:
		text := escape.Text(v)
		return text, text != v
	case []any:
		for i := range v {
			element, other := shown(v[i])
			v[i], changed = element, changed || other
		}
	case map[string]any:
		for name, element := range v {
			element, other := shown(element)
			key := escape.Text(name)
			if key != name {
				delete(v, name)
			}
			v[key], changed = element, changed || other || key != name
		}
	}
	return value, changed
}

// object returns raw if it is valid JSON, else as a JSON string: a model may write any arguments.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	quoted, err := json.Marshal(string(raw))
	if err != nil {
		return nil
	}
	return quoted
}

// plan omits cancelled entries, which the protocol does not have.
func plan(todos []tools.Todo) *acp.Plan {
	p := &acp.Plan{SessionUpdate: acp.UpdatePlan}
	for _, t := range todos {
		if t.Status != "cancelled" {
			p.Entries = append(p.Entries, acp.PlanEntry{Content: t.Content, Priority: "medium", Status: string(t.Status)})
		}
	}
	return p
}

func usage(e agent.UsageChanged) *acp.UsageUpdate {
	u := &acp.UsageUpdate{SessionUpdate: acp.UpdateUsage, Used: e.Used, Size: e.Window}
	if e.Total.Cost > 0 {
		u.Cost = &acp.Cost{Amount: e.Total.Cost, Currency: "USD"}
	}
	ours := map[string]any{"usage": map[string]int{
		"requests": e.Requests, "input": e.Total.Input, "output": e.Total.Output, "reasoning": e.Total.Reasoning,
		"cachedRead": e.Total.CachedRead, "cachedWrite": e.Total.CachedWrite,
	}}
	if e.Last.Input > 0 {
		ours["lastRequest"] = map[string]int{"input": e.Last.Input, "output": e.Last.Output, "cachedRead": e.Last.CachedRead, "cachedWrite": e.Last.CachedWrite}
	}
	if e.Model != "" {
		ours["model"] = e.Model
	}
	u.Meta = acp.Meta{"hermes": ours}
	return u
}
