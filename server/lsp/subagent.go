package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
)

// progressSink shows each subagent, and each call that says how it goes on, as a work-done
// progress of its own, and passes all events on to the plugin, if there is one.
type progressSink struct {
	s    *server
	bars map[string]*progress         // by the subagent's session, or the call
	open map[string]agent.CallStarted // calls
	next agent.Sink                   // nil: no plugin
}

func (s *server) newProgressSink(next agent.Sink) *progressSink {
	return &progressSink{s: s, bars: map[string]*progress{}, open: map[string]agent.CallStarted{}, next: next}
}

// Event makes progressSink an [agent.Sink].
func (b *progressSink) Event(e agent.Event) {
	switch e := e.(type) {
	case agent.CallStarted:
		b.open[e.Call.ID] = e
	case agent.CallProgress:
		b.callSays(e)
	case agent.CallEnded:
		b.finish(e.Call.ID, endOfCall(e))
		delete(b.open, e.Call.ID)
	case agent.ChildStarted:
		b.bars[e.SessionID] = b.s.startProgress(nil, "Hermes › "+titleOf(e.Goal), false, e.Stop)
	case agent.ChildEvent:
		if p := b.bars[e.SessionID]; p != nil {
			p.Event(e.Event)
		}
		if n, ok := e.Event.(agent.Notice); ok && b.next == nil {
			b.s.show(lsp.MessageTypeWarning, "%s", n.Text)
		}
	case agent.ChildEnded:
		b.finish(e.SessionID, endOfChild(e))
	}
	if b.next != nil {
		b.next.Event(e)
	}
}

// callSays shows the progress of a call, such as "execute_code · 3/50 calls · 12 s".
func (b *progressSink) callSays(e agent.CallProgress) {
	call, open := b.open[e.CallID]
	if !open || e.Line == "" || call.Stop == nil {
		return
	}
	bar := b.bars[e.CallID]
	if bar == nil {
		bar = b.s.startProgress(nil, "Hermes › "+chat.OneLine(call.Title, 60), false, call.Stop)
		b.bars[e.CallID] = bar
	}
	bar.Event(e)
}

// finish ends the bar of a piece of work, if it has one. The turn does not wait.
func (b *progressSink) finish(id, end string) {
	if p := b.bars[id]; p != nil {
		delete(b.bars, id)
		b.s.background("the end of a piece of work", func() { p.finish(end) })
	}
}

func endOfCall(e agent.CallEnded) string {
	if e.Result.IsError {
		return "failed"
	}
	return "done"
}

func endOfChild(e agent.ChildEnded) string {
	if e.Status == "completed" {
		return "done"
	}
	return e.Status
}

// delegate is hermes.delegate: subagents begin without the model being asked first,
// and their reports come into the session as if it had asked.
func (s *server) delegate(a protocol.DelegateArgs, p *lsp.ExecuteCommandParams) (command, error) {
	tasks := a.Tasks
	if len(tasks) == 0 {
		tasks = []protocol.DelegateTask{{Goal: a.Goal, Context: a.Context, Toolsets: a.Toolsets}}
	} else if a.Goal != "" {
		return command{}, invalidParams("%s: give either goal or tasks, not both", protocol.CommandDelegate)
	}
	goals := make([]string, len(tasks))
	for i, t := range tasks {
		if goals[i] = strings.TrimSpace(t.Goal); goals[i] == "" {
			return command{}, invalidParams("%s: goal is missing or empty", protocol.CommandDelegate)
		}
	}
	args, err := json.Marshal(map[string]any{"tasks": tasks})
	if err != nil {
		return command{}, fmt.Errorf("encoding the tasks: %w", err)
	}
	input := delegate.Prompt(goals, args)
	return s.prompting(a.SessionID, input, input.Text, p.WorkDoneToken, a.Wait), nil
}

// ofSession finds the session whose subagents are meant; nil: there is none.
func (s *server) ofSession(id string) (*service.Session, error) {
	if id = orElse(id, s.sessions.currentID()); id == "" {
		return nil, nil
	}
	session, err := s.service.Session(id)
	if err != nil {
		return nil, sessionError(id, err)
	}
	return session, nil
}

func (s *server) subagentList(ctx context.Context, a protocol.SubagentArgs) (any, error) {
	result := protocol.SubagentListResult{Subagents: []protocol.SubagentInfo{}}
	session, err := s.ofSession(a.SessionID)
	if err != nil || session == nil {
		return result, err
	}
	children, err := service.Find[*delegate.Instance](session)
	if err != nil {
		return nil, err
	}
	list, err := children.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		result.Subagents = append(result.Subagents, protocol.SubagentInfo{
			SubagentID: c.SessionID, ParentID: c.ParentID, Goal: c.Goal, Status: c.Status, Doing: c.Doing,
			Calls: c.Calls, Tokens: c.Tokens, Seconds: c.Seconds, Background: c.Background,
		})
	}
	return result, nil
}

func (s *server) subagentMessage(ctx context.Context, a protocol.SubagentArgs) (any, error) {
	session, err := s.owner(protocol.CommandSubagentMessage, a)
	if err != nil {
		return nil, err
	}
	children, err := service.Find[*delegate.Instance](session)
	if err == nil {
		err = session.Begin(ctx)
	}
	if err == nil {
		err = children.Send(ctx, a.SubagentID, a.Message)
	}
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	return protocol.SubagentResult{SubagentID: a.SubagentID, Status: "running"}, nil
}

func (s *server) subagentStop(_ context.Context, a protocol.SubagentArgs) (any, error) {
	session, err := s.owner(protocol.CommandSubagentStop, a)
	if err != nil {
		return nil, err
	}
	children, err := service.Find[*delegate.Instance](session)
	if err != nil {
		return nil, err
	}
	stopped, err := children.Cancel(a.SubagentID)
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	return protocol.SubagentResult{SubagentID: a.SubagentID, Stopped: &stopped}, nil
}

// owner is the session whose subagent a command names.
func (s *server) owner(command string, a protocol.SubagentArgs) (*service.Session, error) {
	if a.SubagentID == "" {
		return nil, invalidParams("%s: subagentId is missing; %s names the subagents", command, protocol.CommandSubagentList)
	}
	session, err := s.ofSession(a.SessionID)
	if err == nil && session == nil {
		err = invalidParams("%s: there is no current session; name one with sessionId", command)
	}
	return session, err
}

// NoticesWaiting wakes the parent of subagents that worked in the background, if the
// user wants that; otherwise the results come with the next prompt.
func (h host) NoticesWaiting(x *service.Session) {
	if h.s.client.acp != nil {
		h.s.agent.NoticesWaiting(x)
		return
	}
	children, err := service.Find[*delegate.Instance](x)
	if err != nil {
		return
	}
	ready := children.Ready()
	h.s.background("asking whether to go on", func() { h.s.offerResults(x.ID(), ready) })
}

const goOnTitle = "Go on"

func (s *server) offerResults(sessionID string, ready []delegate.Status) {
	goals := make([]string, len(ready))
	for i, r := range ready {
		goals[i] = fmt.Sprintf("“%s” (%s)", chat.OneLine(r.Goal, 60), r.Status)
	}
	params := &lsp.ShowMessageRequestParams{
		Type:    lsp.MessageTypeInfo,
		Message: "Subagents have ended: " + strings.Join(goals, ", ") + ". Shall Hermes go on with the results?",
		Actions: []lsp.MessageActionItem{{Title: goOnTitle}, {Title: "Later"}},
	}
	var chosen lsp.MessageActionItem
	if err := s.showQuestion(s.ctx, params, &chosen); err != nil || chosen.Title != goOnTitle {
		return
	}
	const text = "Go on with the results of the subagents."
	result, err := s.prompting(sessionID, agent.Input{Text: text}, text, nil, false).run(s.ctx, nil)
	if err != nil {
		s.show(lsp.MessageTypeError, "Hermes: %v", err)
	} else if f, ok := result.(followed); ok {
		f.then()
	}
}

// Pace makes progressSink an [agent.Pacer] where the next sink is one.
func (b *progressSink) Pace(ctx context.Context) error {
	if p, ok := b.next.(agent.Pacer); ok {
		return p.Pace(ctx)
	}
	return nil
}
