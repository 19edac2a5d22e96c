package agent

import (
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// pendingUsage is the usage of requests outside the history, before a message stores it.
type pendingUsage struct {
	mu    sync.Mutex
	usage *model.Usage // nil: none
}

// AddUsage adds the usage of a request outside the history, such as the review of an
// action. The next tool result or prompt stores it.
func (s *Session) AddUsage(u model.Usage) {
	s.pending.mu.Lock()
	defer s.pending.mu.Unlock()
	sum := s.pending.usage
	if sum == nil {
		sum = &model.Usage{}
		s.pending.usage = sum
	}
	sum.Input += u.Input
	sum.Output += u.Output
	sum.Reasoning += u.Reasoning
	sum.CachedRead += u.CachedRead
	sum.CachedWrite += u.CachedWrite
	sum.Cost += u.Cost
}

func (s *pendingUsage) drain() *model.Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.usage
	s.usage = nil
	return taken
}
