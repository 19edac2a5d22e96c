package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// edits list the parts of stored messages to omit from requests. The stored messages do not
// change.
type edits struct {
	Dropped []droppedState `json:"dropped,omitempty"`
	LeftOut []string       `json:"leftOut,omitempty"` // ids of the messages of refused turns
	Plain   []string       `json:"plain,omitempty"`   // ids of responses in plain form
}

// droppedState is state refused by its endpoint: all state of an origin up to a time.
type droppedState struct {
	model.Origin
	Until time.Time `json:"until"`
}

// editsOf returns the storage of a session's edits.
func (s *Session) editsOf() *store.State { return s.config.Store.State(s.id, "model") }

const editsKey = "edits"

// apply returns a message in the form for requests. If requests omit the message, it returns
// false.
func (e *edits) apply(m *store.Message) (model.Message, bool) {
	if slices.Contains(e.LeftOut, m.ID) {
		return model.Message{}, false
	}
	out := m.Message
	for _, d := range e.Dropped {
		if !m.Time.After(d.Until) {
			out = withoutState(out, &d.Origin)
		}
	}
	return out, true
}

// withoutState returns a message without the state of an origin. If origin is nil, it removes
// all state. The ids of calls stay.
func withoutState(m model.Message, origin *model.Origin) model.Message {
	var parts []model.Part
	for i, p := range m.Parts {
		if p.State == nil || origin != nil && *origin != (model.Origin{API: p.State.API, Host: p.State.Host}) {
			continue
		}
		if parts == nil {
			parts = append(parts, m.Parts...) // a running request still uses the old parts
		}
		parts[i].State = p.State.Lasting()
	}
	if parts != nil {
		m.Parts = parts
	}
	return m
}

// dropState removes the state of an origin from all messages of later requests, because the
// endpoint refused it.
func (t *turn) dropState(origin model.Origin) error {
	t.historyMu.Lock()
	h := &t.history
	h.edits.Dropped = append(h.edits.Dropped, droppedState{origin, store.Now()})
	changed := make([]model.Message, len(h.messages)) // a running request still uses the old messages
	for i := range h.messages {
		changed[i] = withoutState(h.messages[i], &origin)
	}
	h.messages = changed
	t.historyMu.Unlock()
	return t.saveEdits(t.storeCtx)
}

// leaveOut omits the prompt of the turn and all later messages from future requests, because
// the model refused to answer or the prompt does not fit. The next prompt has the notices again.
func (t *turn) leaveOut() error {
	t.historyMu.Lock()
	h := &t.history
	from := len(h.messages)
	for from > 0 && h.origins[from-1].seq >= t.prompt.Seq {
		from--
		h.edits.LeftOut = append(h.edits.LeftOut, h.origins[from].id)
		h.gauge.own -= weight(&h.messages[from])
	}
	h.messages, h.origins = h.messages[:from:from], h.origins[:from:from]
	t.historyMu.Unlock()
	if err := t.saveEdits(t.storeCtx); err != nil {
		return err
	}
	if t.prompt.Note {
		return nil // its notices may be the reason
	}
	return t.news.keep(t.storeCtx, t.editsOf(), t.window())
}

func (s *Session) saveEdits(ctx context.Context) error {
	stored := s.history.edits
	stored.Plain = slices.DeleteFunc(slices.Clone(stored.Plain), func(id string) bool { return slices.Contains(s.history.trial, id) })
	if err := s.editsOf().Save(ctx, editsKey, stored); err != nil {
		return fmt.Errorf("keeping what later requests leave out: %w", err)
	}
	return nil
}
