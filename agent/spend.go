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
	sum := s.spending.usage
	if sum == nil {
		sum = &model.Usage{}
		s.spending.usage = sum
	}
	sum.Input += u.Input
	sum.Output += u.Output
	sum.Reasoning += u.Reasoning
	sum.CachedRead += u.CachedRead
	sum.CachedWrite += u.CachedWrite
	sum.Cost += u.Cost
}

func (s *spending) take() *model.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.usage
	s.usage = nil
	return taken
}
