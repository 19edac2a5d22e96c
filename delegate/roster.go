package delegate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// roster holds the subagents of a session in this process. The zero value is empty.
type roster struct {
	mu     sync.Mutex
	all    []*child  // in the order of their start
	below  []*roster // of running subagents: their own subagents
	closed bool
}

// close rejects further subagents.
func (r *roster) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// unlessClosed calls start, if the roster is not closed. A close waits for it.
func (r *roster) unlessClosed(start func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		start()
	}
}

// cancel ends the matching running background subagents. If there are none, it returns false.
func (r *roster) cancel(cause error, match func(*child) bool) (canceled bool) {
	for _, c := range r.latest() {
		if c.Background && !c.hasEnded() && match(c) {
			c.cancel(cause)
			canceled = true
		}
	}
	return canceled
}

// awaitCanceled waits until the background subagents canceled by the user have ended, or for
// ctx.
func (r *roster) awaitCanceled(ctx context.Context) {
	for _, c := range r.undelivered() {
		if !c.canceledByUser() {
			continue
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return
		}
	}
}

// admit adds the subagents created by start, if n more may run beside the running subagents.
func (r *roster) admit(n, limit int, start func(i int) *child) ([]*child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosing
	}
	running := 0
	for _, c := range r.all {
		if !c.hasEnded() {
			running++
		}
	}
	if running+n > limit {
		return nil, fmt.Errorf("%d subagents are at work already, and at most %d work at once (delegation.max_concurrent_children); wait for one, or stop one", running, limit)
	}
	batch := make([]*child, n)
	for i := range batch {
		batch[i] = start(i)
	}
	r.all = append(r.all, batch...)
	return batch, nil
}

// addEnded adds a finished subagent of an earlier process.
func (r *roster) addEnded(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append([]*child{c}, r.all...)
}

// enter adds the subagents of a subagent, until leave is called.
func (r *roster) enter(below *roster) (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.below = append(r.below, below)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.below = slices.DeleteFunc(r.below, func(o *roster) bool { return o == below })
	}
}

// latest returns the subagents of the session. Of a resumed subagent, it returns the newest.
func (r *roster) latest() []*child {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := make(map[string]*child, len(r.all))
	for _, c := range r.all {
		newest[c.ID] = c
	}
	return slices.DeleteFunc(slices.Clone(r.all), func(c *child) bool { return newest[c.ID] != c })
}

// descendants returns the subagents of the session and those of its running subagents.
func (r *roster) descendants() []*child {
	list := r.latest()
	r.mu.Lock()
	below := slices.Clone(r.below)
	r.mu.Unlock()
	for _, b := range below {
		for _, c := range b.descendants() {
			if !slices.ContainsFunc(list, func(o *child) bool { return o.ID == c.ID }) { // otherwise it was resumed
				list = append(list, c)
			}
		}
	}
	return list
}

// find returns a subagent of the session. If there is none, it returns nil.
func (r *roster) find(id string) *child { return withID(r.latest(), id) }

// seek returns a subagent of the session or of its subagents. If there is none, it returns
// nil.
func (r *roster) seek(id string) *child { return withID(r.descendants(), id) }

func withID(list []*child, id string) *child {
	i := slices.IndexFunc(list, func(c *child) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return list[i]
}

// undelivered returns the background subagents without delivered results.
func (r *roster) undelivered() []*child {
	return slices.DeleteFunc(r.latest(), func(c *child) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.delivered || !c.Background
	})
}

// ready returns the finished subagents of undelivered.
func (r *roster) ready() []*child {
	return slices.DeleteFunc(r.undelivered(), func(c *child) bool { return !c.hasEnded() })
}

func errUnknown(id string) error {
	if id == "" {
		return errors.New("session_id is missing; action list names the subagents")
	}
	return fmt.Errorf("this session has no subagent %q; action list names those there are", id)
}
