package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Steer sends text to the running turn: the model gets it with its next request, and a turn at
// its end continues. If no turn runs, Steer returns false and does nothing.
func (s *Session) Steer(text string) bool { return s.inbox.add(text) }

// inbox holds messages to a running turn until they enter the history.
type inbox struct {
	mu    sync.Mutex
	open  bool // a turn runs and reads the messages
	texts []string
}

func (s *inbox) add(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.texts = append(s.texts, text)
	}
	return s.open
}

func (s *inbox) listen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
}

// close makes the inbox reject new messages. The next turn gets the remaining messages.
func (s *inbox) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
}

// closeIfEmpty closes the inbox if it is empty, and reports whether it did.
func (s *inbox) closeIfEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = len(s.texts) > 0
	return !s.open
}

func (s *inbox) drain() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := s.texts
	s.texts = nil
	return texts
}

// drainInbox appends the messages of the inbox to the history, and then the notices.
func (t *turn) drainInbox() error {
	for _, text := range t.inbox.drain() {
		m := &store.Message{Message: model.NewMessage("", text), Typed: len(text)}
		if err := t.appendPrompt(t.storeCtx, m); err != nil {
			return fmt.Errorf("storing a message of the user: %w", err)
		}
		t.sink.Event(UserMessage{MessageID: m.ID, Text: text})
	}
	return t.appendNotices()
}

// appendNotices appends new notices to the history. Only the model gets them.
func (t *turn) appendNotices() error {
	if t.config.Notices == nil {
		return nil
	}
	news := t.config.Notices()
	if len(news) == 0 {
		return nil
	}
	t.news = append(slices.Clip(t.news), news...)
	text := strings.TrimSpace(compose(Input{News: news}))
	if err := t.appendPrompt(t.storeCtx, &store.Message{Message: model.NewMessage("", text), Note: true}); err != nil {
		return fmt.Errorf("keeping the news: %w", err)
	}
	return nil
}

// callFirst runs the calls of the prompt as if the model had made them.
func (t *turn) callFirst(ctx context.Context, wanted []tools.Call) error {
	reply := &model.Reply{Finish: model.FinishCalls}
	for _, c := range wanted {
		reply.Calls = append(reply.Calls, model.Call{ID: c.ID, Name: c.Name, Args: string(c.Args)})
	}
	calls := t.callsOf(reply)
	m := &store.Message{ID: store.NewID(), Message: model.Message{Role: model.Assistant}}
	for _, c := range calls {
		m.Parts = append(m.Parts, model.CallPart(c.stored()))
	}
	if err := t.append(t.storeCtx, m); err != nil {
		return fmt.Errorf("keeping the calls: %w", err)
	}
	if err := t.callAll(ctx, calls); err != nil {
		return fmt.Errorf("keeping a result: %w", err)
	}
	return nil
}

// freeTokens returns the remaining tokens of the context window. If the window is not known, it
// returns 0.
func (s *Session) freeTokens() int {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	window := s.window()
	if window <= 0 {
		return 0
	}
	return max(1, window-s.history.gauge.used())
}
