package demo

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// update decodes a session/update, shows it, and stores it as evidence.
func (e *editor) update(params []byte) error {
	var p struct{ Update json.RawMessage }
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	var kind struct{ SessionUpdate string }
	if err := json.Unmarshal(p.Update, &kind); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch kind.SessionUpdate {
	case acp.UpdateAgentMessage:
		return decode(p.Update, e.message)
	case acp.UpdateToolCall, acp.UpdateToolCallNews:
		return decode(p.Update, e.call)
	case acp.UpdatePlan:
		return decode(p.Update, e.plan)
	case acp.UpdateUsage:
		return decode(p.Update, e.count)
	}
	return nil
}

func decode[T any](data []byte, take func(T)) error {
	var value T
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	take(value)
	return nil
}

func (e *editor) message(chunk acp.ContentChunk) {
	e.turn.pieces++
	e.turn.text += chunk.Content.Text
	e.screen.text(chunk.Content.Text)
}

func (e *editor) call(news acp.ToolCall) {
	c := e.pending[news.ToolCallID]
	if c == nil {
		c = &toolCall{id: news.ToolCallID}
		e.pending[c.id] = c
		e.turn.calls = append(e.turn.calls, c)
	}
	if news.Title != "" {
		c.title = news.Title
	}
	if news.Name != "" {
		c.tool = news.Name
	}
	if news.RawOutput != nil {
		c.output = news.RawOutput
	}
	if calls := innerCalls(news.Meta); calls != nil {
		c.inner = calls
	}
	if news.Status != "" {
		c.status = string(news.Status)
	}
	if news.Status == acp.StatusCompleted || news.Status == acp.StatusFailed {
		e.screen.call(c)
	}
}

func (e *editor) plan(plan acp.Plan) {
	e.turn.plans++
	marks := map[string]string{"completed": "●", "in_progress": "◐", "pending": "○"}
	for _, entry := range plan.Entries {
		e.screen.note("%s %s", marks[entry.Status], entry.Content)
	}
}

// bar is the work-done progress of a subagent.
type bar struct {
	title, end string
	shown      string // the last message
	ended      bool
}

// progress shows the progress of subagents. It ignores the progress of the turn, whose
// messages are shown.
func (e *editor) progress(params []byte) error {
	var p struct {
		Token any
		Value struct{ Kind, Title, Message string }
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	token := fmt.Sprint(p.Token)
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.bars[token]
	switch {
	case p.Value.Kind == "begin" && strings.Contains(p.Value.Title, "›"):
		b = &bar{title: p.Value.Title}
		e.bars[token] = b
		e.turn.bars = append(e.turn.bars, b)
		e.screen.note("▶ %s", b.title)
	case b == nil:
	case p.Value.Kind == "end":
		b.ended, b.end = true, p.Value.Message
		e.screen.note("■ %s: %s", b.title, b.end)
	case p.Value.Message != b.shown:
		b.shown = p.Value.Message
		e.screen.note("│ %s: %s", b.title, b.shown)
	}
	return nil
}

// count reads the session's usage from the metadata, because ACP has no field for it.
func (e *editor) count(u acp.UsageUpdate) {
	var meta struct {
		Hermes struct {
			Usage usage `json:"usage"`
		} `json:"hermes"`
	}
	data, err := json.Marshal(u.Meta)
	if err == nil && json.Unmarshal(data, &meta) == nil {
		e.costs = meta.Hermes.Usage
	}
}
