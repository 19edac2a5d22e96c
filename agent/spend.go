package agent

import (
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// spending is the cost of requests beside the conversation that no message has yet.
type spending struct {
	mu    sync.Mutex
	usage *model.Usage // nil: there is none
}

// Spend counts what a request beside the conversation has cost, such as a judgement of
// an action. The log has it with the next result of a call.
func (s *Session) Spend(u model.Usage) {
	s.spending.mu.Lock()
	defer s.spending.mu.Unlock()
	if s.spending.usage == nil {
		s.spending.usage = &model.Usage{}
	}
	s.spending.usage.Add(u)
}

func (s *spending) take() *model.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.usage
	s.usage = nil
	return taken
}
