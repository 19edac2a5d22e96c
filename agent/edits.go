package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/tools"
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
	return t.keepNews()
}

const newsKey = "news"

// newsShare is the share of the context window that kept notices may have.
const newsShare = 0.1

// keepNews stores the notices of the turn for the next prompt, because their prompt is left out. If they
// are the prompt, they may be its fault, and none is stored. A notice is stored once.
func (t *turn) keepNews() error {
	if t.prompt.Note || len(t.news) == 0 {
		return nil
	}
	room := int(newsShare * float64(cmp.Or(t.window(), usualWindow)))
	kept := make([]string, len(t.news))
	for i, text := range t.news {
		size := tools.Tokens(text)
		if size > room {
			kept[i] = fmt.Sprintf("A notice of %s was left out with the prompt before: it does not fit.", amount.Bytes(len(text)))
			continue
		}
		kept[i], room = text, room-size
	}
	if err := t.editsOf().Save(t.storeCtx, newsKey, kept); err != nil {
		return fmt.Errorf("keeping the notices of a prompt that is left out: %w", err)
	}
	return nil
}

// usualWindow stands for an unknown context window, in tokens.
const usualWindow = 32_000

// keptNews returns the notices of a prompt that was left out.
func (s *Session) keptNews(ctx context.Context) (kept []string, err error) {
	s.headMu.Lock()
	stored := s.stored
	s.headMu.Unlock()
	if !stored {
		return nil, nil
	}
	_, err = s.editsOf().Load(ctx, newsKey, &kept)
	return kept, err
}

func (s *Session) saveEdits(ctx context.Context) error {
	if err := s.editsOf().Save(ctx, editsKey, s.history.edits); err != nil {
		return fmt.Errorf("keeping what later requests leave out: %w", err)
	}
	return nil
}
