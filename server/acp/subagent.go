package acp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/tools"
)

// subagents holds the running subagents. Each is shown as a tool call of the parent's session, with
// its newest calls and its text as content. _meta.hermes.subagent names the session with its
// history.
type subagents map[string]*subagent // by session

type subagent struct {
	agent.Child
	id    string            // of the tool call
	lines []string          // the newest calls
	open  map[string]string // running calls: their titles by id
	order []string          // of open
	text  strings.Builder
	calls int
	used  int       // tokens
	sent  time.Time // the last update
}

const (
	linesShown = 12                     // of a subagent's calls
	textShown  = 2000                   // bytes of its text
	newsEvery  = 250 * time.Millisecond // for text, which arrives in small pieces
)

func (s *sink) childStarted(e agent.ChildStarted) {
	if s.children == nil {
		s.children = subagents{}
	}
	c := &subagent{Child: e.Child, id: "subagent-" + e.SessionID, open: map[string]string{}}
	s.children[e.SessionID] = c
	s.post(&acp.ToolCall{
		SessionUpdate: acp.UpdateToolCall, ToolCallID: c.id, Title: escape.Text("Subagent: " + line(e.Goal, 100)), Kind: acp.ToolKind("other"),
		Status: acp.StatusInProgress, Meta: c.meta("running"),
	})
}

func (s *sink) childEvent(e agent.ChildEvent) {
	c := s.children[e.SessionID]
	if c == nil {
		return
	}
	if n, ok := e.Event.(agent.Notice); ok {
		s.notice(n)
		return
	}
	if !c.note(e.Event) {
		return
	}
	c.sent = time.Now()
	s.post(&acp.ToolCall{
		SessionUpdate: acp.UpdateToolCallNews, ToolCallID: c.id, Status: acp.StatusInProgress,
		Content: []acp.ToolCallContent{acp.TextContent(tools.WithoutControls(c.content()))}, Meta: c.meta("running"),
	})
}

func (s *sink) childEnded(e agent.ChildEnded) {
	c := s.children[e.SessionID]
	if c == nil {
		return
	}
	delete(s.children, e.SessionID)
	c.calls, c.used = e.Calls, e.Usage.Input+e.Usage.Output
	u := &acp.ToolCall{SessionUpdate: acp.UpdateToolCallNews, ToolCallID: c.id, Status: acp.StatusCompleted, Meta: c.meta(e.Status)}
	text := e.Summary
	if e.Status != "completed" {
		u.Status = acp.StatusFailed
		text = e.Status + ": " + e.Error + "\n\n" + text
	}
	u.Content = []acp.ToolCallContent{acp.TextContent(tools.WithoutControls(text))}
	s.post(u)
}

// note adds an event. It reports whether an update is due.
func (c *subagent) note(e agent.Event) bool {
	switch e := e.(type) {
	case agent.Text:
		c.text.WriteString(e.Text)
		return time.Since(c.sent) >= newsEvery
	case agent.CallStarted:
		c.text.Reset()
		c.open[e.Call.ID] = line(e.Title, 120)
		c.order = append(c.order, e.Call.ID)
		return true
	case agent.CallEnded:
		c.calls++
		mark := "✓ "
		if e.Result.IsError {
			mark = "✗ "
		}
		c.lines = append(c.lines, mark+c.open[e.Call.ID])
		delete(c.open, e.Call.ID)
		if n := len(c.lines); n > linesShown {
			c.lines = append([]string(nil), c.lines[n-linesShown:]...)
		}
		return true
	case agent.UsageChanged:
		c.used = e.Total.Input + e.Total.Output
	}
	return false
}

func (c *subagent) content() string {
	lines := append([]string(nil), c.lines...)
	var still []string
	for _, id := range c.order {
		if title, running := c.open[id]; running {
			lines = append(lines, "… "+title)
			still = append(still, id)
		}
	}
	c.order = still
	text := strings.Join(lines, "\n")
	if said := strings.TrimSpace(c.text.String()); said != "" {
		if len(said) > textShown {
			said = "…" + strings.ToValidUTF8(said[len(said)-textShown:], "")
		}
		text = strings.TrimSpace(text + "\n\n" + said)
	}
	return text
}

func (c *subagent) meta(status string) acp.Meta {
	m := map[string]any{
		"sessionId": c.SessionID, "parentSessionId": c.ParentID, "goal": tools.WithoutControls(c.Goal), "status": status,
		"model": c.Model, "calls": c.calls, "tokens": c.used,
	}
	if c.CallID != "" {
		m["parentToolCallId"] = c.CallID
	}
	if c.Background {
		m["background"] = true
	}
	return acp.Meta{"hermes": map[string]any{"subagent": m}}
}

// line returns the first line of a text, cut to limit characters.
func line(text string, limit int) string {
	return shorten.OneLine(shorten.FirstLine(text), limit)
}

// NoticesWaiting tells the client about waiting results of subagents, or starts a turn with them.
// The client did not ask for this turn, so its updates have no request.
func (c *Client) NoticesWaiting(x *server.Session, start bool) {
	if !start {
		c.SubagentsReady(x, false)
		return
	}
	if children, err := server.Find[*delegate.Instance](x); err == nil {
		c.Sink(x.ID()).Event(agent.Notice{Text: readyText(children.Ready())})
	}
	server.GoNotices(x, func(err error) {
		c.Sink(x.ID()).Event(agent.Notice{Text: "The results of subagents were not used: " + err.Error()})
	})
}

func readyText(ready []delegate.Status) string {
	goals := make([]string, len(ready))
	for i, r := range ready {
		goals[i] = fmt.Sprintf("“%s” (%s)", line(tools.WithoutControls(r.Goal), 60), r.Status)
	}
	return "Subagents have ended: " + strings.Join(goals, ", ") + ". Hermes continues with their results."
}

// SubagentsReady tells a plugin about waiting results of subagents. If start is true, the plugin
// starts a turn with them.
func (c *Client) SubagentsReady(x *server.Session, start bool) {
	children, err := server.Find[*delegate.Instance](x)
	if err != nil {
		return
	}
	n := acp.SubagentsReady{SessionID: x.ID(), Start: start}
	for _, r := range children.Ready() {
		n.Subagents = append(n.Subagents, subagentInfo(r))
	}
	_ = c.peer.Post(x.ID(), wire.Notification(acp.MethodSubagentsReady, n)) // without a client, the next prompt has them
}

func subagentInfo(s delegate.Status) acp.Subagent {
	return acp.Subagent{
		SubagentID: s.SessionID, ParentID: s.ParentID, Goal: tools.WithoutControls(s.Goal), Status: s.Status, Doing: s.Doing,
		Calls: s.Calls, Tokens: s.Tokens, Seconds: s.Seconds, Background: s.Background,
	}
}

func (a *Agent) listSubagents(ctx context.Context, p *acp.SubagentRequest) (*acp.SubagentList, error) {
	children, err := find[*delegate.Instance](a, p.SessionID)
	if err != nil {
		return nil, err
	}
	list, err := children.All(ctx)
	if err != nil {
		return nil, err
	}
	out := &acp.SubagentList{}
	for _, s := range list {
		out.Subagents = append(out.Subagents, subagentInfo(s))
	}
	return out, nil
}

func (a *Agent) messageSubagent(ctx context.Context, p *acp.SubagentRequest, next func()) (*acp.SubagentStatus, error) {
	x, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	next()
	children, err := server.Find[*delegate.Instance](x)
	if err == nil {
		err = x.Begin(ctx)
	}
	if err == nil {
		err = children.Send(ctx, p.SubagentID, p.Message)
	}
	if err != nil {
		return nil, err
	}
	return &acp.SubagentStatus{SubagentID: p.SubagentID, Status: "running"}, nil
}

func (a *Agent) stopSubagent(_ context.Context, p *acp.SubagentRequest) (*acp.SubagentStatus, error) {
	children, err := find[*delegate.Instance](a, p.SessionID)
	if err != nil {
		return nil, err
	}
	stopped, err := children.Cancel(p.SubagentID)
	if err != nil {
		return nil, err
	}
	return &acp.SubagentStatus{SubagentID: p.SubagentID, Stopped: &stopped}, nil
}
