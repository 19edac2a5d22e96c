package agent

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Interject says text to the turn that runs: the model reads it with its next
// request, and the turn goes on if it was about to end. False: no turn runs, and
// nothing was said.
func (s *Session) Interject(text string) bool { return s.saying.add(text) }

// saying is what was said to a running turn and is not in the log yet.
type saying struct {
	mu    sync.Mutex
	open  bool // a turn runs and will hear
	texts []string
}

func (s *saying) add(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		s.texts = append(s.texts, text)
	}
	return s.open
}

func (s *saying) listen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
}

// deaf ends the listening, whatever is still unheard: the next turn hears it.
func (s *saying) deaf() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
}

// close ends the listening unless there is something to hear.
func (s *saying) close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = len(s.texts) > 0
	return !s.open
}

func (s *saying) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	texts := s.texts
	s.texts = nil
	return texts
}

// hear puts what was said into the log.
func (t *turn) hear() error {
	for _, text := range t.saying.take() {
		m := &store.Message{Message: model.NewMessage("", text), Typed: len(text)}
		if err := t.say(t.keeping, m); err != nil {
			return fmt.Errorf("keeping what was said: %w", err)
		}
		t.sink.Event(UserMessage{MessageID: m.ID, Text: text})
	}
	return t.hearNews()
}

// hearNews puts what is new into the log, for the model alone.
func (t *turn) hearNews() error {
	if t.config.News == nil {
		return nil
	}
	news := t.config.News()
	if len(news) == 0 {
		return nil
	}
	text := strings.TrimSpace(compose(Input{News: news}))
	if err := t.say(t.keeping, &store.Message{Message: model.NewMessage("", text), Note: true}); err != nil {
		return fmt.Errorf("keeping the news: %w", err)
	}
	return nil
}

// callFirst makes the calls that came with the prompt, as if the model had asked.
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
	if err := t.append(t.keeping, m); err != nil {
		return fmt.Errorf("keeping the calls: %w", err)
	}
	if err := t.callAll(ctx, calls); err != nil {
		return fmt.Errorf("keeping a result: %w", err)
	}
	return nil
}

// room is how many tokens the model's window still has; 0: nobody knows.
func (s *Session) room() int {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	window := s.window()
	if window <= 0 {
		return 0
	}
	return max(1, window-s.history.gauge.used())
}
