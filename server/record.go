package server

import (
	"context"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/tools"
)

// record is a stored session: its head, and the agent's session if it is open.
type record struct {
	svc *Service
	id  string

	plan    *tools.Plan   // of the session
	opening chan struct{} // holds a value while the agent's session is opened

	mu      sync.Mutex
	initial store.Session // the head; when there is an agent, only its mode applies
	agent   *agent.Session
}

func newRecord(svc *Service, head store.Session) *record {
	return &record{svc: svc, id: head.ID, initial: head, plan: tools.NewPlan(), opening: make(chan struct{}, 1)}
}

// opened returns the agent's session. If it is not open, it returns nil.
func (r *record) opened() *agent.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agent
}

// head returns the head of the stored session, as it is now.
func (r *record) head() store.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent != nil {
		return r.agent.Head()
	}
	return r.initial
}

// chosenMode returns the mode that the user has chosen for the session. If there is none, it
// returns "".
func (r *record) chosenMode() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.initial.Mode
}

// lock waits until no other goroutine opens the agent's session.
func (r *record) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case r.opening <- struct{}{}:
		return func() { <-r.opening }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open returns the agent's session. The first time, it opens it with first. From then on,
// system prompt and tools do not change before a compaction.
func (r *record) open(ctx context.Context, first func(ctx context.Context, head store.Session, draft bool) (*agent.Session, error)) (*agent.Session, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if a := r.opened(); a != nil {
		return a, nil
	}
	a, err := first(ctx, r.head(), r.draft())
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.agent = a
	r.mu.Unlock()
	return a, nil
}

// draft reports whether the session has had no prompt yet.
func (r *record) draft() bool {
	r.svc.mu.Lock()
	defer r.svc.mu.Unlock()
	_, draft := r.svc.drafts[r.id]
	return draft
}

// prompted removes the session from the list of sessions without a prompt.
func (r *record) prompted() {
	r.svc.mu.Lock()
	defer r.svc.mu.Unlock()
	delete(r.svc.drafts, r.id)
}

// save changes the head, in the store if the session is there.
func (r *record) save(ctx context.Context, change func(*store.Session)) error {
	r.mu.Lock()
	change(&r.initial)
	a := r.agent
	r.mu.Unlock()
	if a != nil {
		return a.Update(ctx, change)
	}
	r.svc.mu.Lock()
	defer r.svc.mu.Unlock()
	if head, draft := r.svc.drafts[r.id]; draft {
		change(&head)
		r.svc.drafts[r.id] = head
	}
	return nil
}

// spend adds the usage of a request outside of the history.
func (r *record) spend(u model.Usage) {
	if a := r.opened(); a != nil && u != (model.Usage{}) {
		a.AddUsage(u)
	}
}
