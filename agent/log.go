package agent

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// What the loop writes into the log where a reply or a result is missing.
const (
	serverStopped = "interrupted: the server stopped before this ended. Run it again if it is still needed"
)

// history is the log in memory: what the next request will say, and what can be
// known from it. It only grows, but for a compaction.
type history struct {
	messages []model.Message
	origins  []origin        // of messages
	seq      int64           // of the last message
	open     []model.Call    // calls that have no result yet, in order
	ids      map[string]bool // of all calls
	todos    []tools.Todo    // the last list
	usage    model.Usage     // in all
	requests int
	counted  int64 // usage and requests have everything up to this Seq in them
	gauge    gauge
	floor    int // tokens that the last compaction has left
	// unmeasured: counts of tokens up to this Seq are of requests that had more before
	// them than is here.
	unmeasured int64
}

// origin is what a message in memory is in the log.
type origin struct {
	seq    int64 // 0: it stands for others that were compacted
	spoken bool  // by a person
}

func (h *history) add(m *store.Message) {
	h.seq = m.Seq
	if m.Keeps > 0 {
		h.compact(m)
		return
	}
	h.put(m.Message, origin{m.Seq, m.Role == model.User && !m.Note})
	switch m.Role {
	case model.Assistant:
		h.open = m.Calls()
		h.remember(h.open)
	case model.ToolRole:
		id := m.CallID()
		h.open = slices.DeleteFunc(h.open, func(c model.Call) bool { return c.ID == id })
		h.readTodos(m)
	}
	h.count(m)
	if m.Usage != nil && m.Role == model.Assistant && m.Seq > h.unmeasured {
		h.gauge.measured(m.Usage)
	}
}

// put makes m the last message of the next request.
func (h *history) put(m model.Message, o origin) {
	h.messages, h.origins = append(h.messages, m), append(h.origins, o)
	h.gauge.bytes += weight(&m)
}

func (h *history) remember(calls []model.Call) {
	if h.ids == nil {
		h.ids = map[string]bool{}
	}
	for _, c := range calls {
		h.ids[c.ID] = true
	}
}

// count adds the cost of a request, if it is known and not yet in the sums.
func (h *history) count(m *store.Message) {
	u := m.Usage
	if u == nil || m.Seq <= h.counted {
		return
	}
	h.requests++
	h.usage.Input += u.Input
	h.usage.Output += u.Output
	h.usage.Reasoning += u.Reasoning
	h.usage.CachedRead += u.CachedRead
	h.usage.CachedWrite += u.CachedWrite
	h.usage.Cost += u.Cost
}

// readTodos takes the list from the result of a todo call: it is the only copy
// that outlives the process.
func (h *history) readTodos(m *store.Message) {
	if m.Name() != "todo" || m.IsError {
		return
	}
	var list struct{ Todos []tools.Todo }
	if json.Unmarshal([]byte(m.Text()), &list) == nil && list.Todos != nil {
		h.todos = list.Todos
	}
}

// append stores m at the end of the log and only then remembers it.
func (s *Session) append(ctx context.Context, m *store.Message) error {
	m.Seq = s.history.seq + 1
	if err := s.config.Store.Append(ctx, s.id, m); err != nil {
		return err
	}
	s.remember(m)
	return nil
}

// remember adds what the store has.
func (s *Session) remember(m *store.Message) {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	s.history.add(m)
}

// mendAfterCrash answers the calls that a dead server left open. A claim that
// somebody else holds means that the server is not dead.
func (s *Session) mendAfterCrash(ctx context.Context) error {
	if len(s.history.open) == 0 {
		return nil
	}
	release, err := s.config.Store.Claim(s.id)
	if errors.Is(err, store.ErrClaimed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	return s.closeCalls(ctx)
}

// closeCalls gives every open call a result.
func (s *Session) closeCalls(ctx context.Context) error {
	for _, c := range slices.Clone(s.history.open) {
		m := resultMessage(tools.Call{ID: c.ID, Name: c.Name}, s.leftOpen(ctx, c))
		if err := s.append(ctx, m); err != nil {
			return fmt.Errorf("closing the call %s: %w", c.ID, err)
		}
	}
	return nil
}

// leftOpen is the result of a call that nobody can finish any more.
func (s *Session) leftOpen(ctx context.Context, c model.Call) tools.Result {
	if tool, ok := s.toolset().Get(c.Name); ok && tool.Interrupted != nil {
		return tool.Interrupted(ctx, s.env(s.Head(), nil), tools.Call{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Args)})
	}
	return tools.Fail(serverStopped)
}

// say adds what a user says. Before it, every call gets a result, and a message of the
// assistant without text separates two of the user.
func (s *Session) say(ctx context.Context, m *store.Message) error {
	if err := s.closeCalls(ctx); err != nil {
		return err
	}
	if last := s.Last(); last.Role == model.User || last.Role == model.ToolRole {
		if err := s.append(ctx, silence(nil)); err != nil {
			return err
		}
	}
	m.Role = model.User
	return s.append(ctx, m)
}

// silence stands in the log where the assistant has said nothing. It has no text, and
// no request contains it.
func silence(usage *model.Usage, reasoning ...model.Part) *store.Message {
	return &store.Message{
		Message: model.Message{Role: model.Assistant, Parts: reasoning},
		Usage:   usage,
		Note:    true,
	}
}

// shownLimit bounds what is kept of a result for the editor alone.
const shownLimit = 1 << 20

func resultMessage(c tools.Call, r tools.Result) *store.Message {
	m := &store.Message{
		Message: model.ResultMessage(c.ID, c.Name, string(r.JSON)),
		IsError: r.IsError,
	}
	for _, i := range r.Images {
		m.Parts = append(m.Parts, model.ImagePart(model.Image{Name: i.Name, MIMEType: i.MIMEType, Data: base64.StdEncoding.EncodeToString(i.Data)}))
	}
	if len(r.Shown) == 0 {
		return m
	}
	if shown, err := json.Marshal(r.Shown); err == nil && len(shown) <= shownLimit {
		m.Shown = shown
	}
	return m
}
