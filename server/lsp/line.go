package lsp

import (
	"context"
	"sync"

	lsp "go.lsp.dev/protocol"
)

// line keeps the order of work that leaves the reader: each piece waits until the
// one before has taken what it needs. It also knows which turns are still to begin, so
// that a cancel reaches them.
type line struct {
	last chan struct{} // used by the reader only

	mu     sync.Mutex
	coming map[*place]struct{}
}

// turnToCome is a turn that a message asks for.
type turnToCome struct {
	session string            // as the message names it; empty: the current one
	token   lsp.ProgressToken // of the editor's own progress; nil: none
}

// place is a place in the line.
type place struct {
	line   *line
	before <-chan struct{}
	after  chan struct{}
	once   sync.Once

	turn      *turnToCome // nil: none
	cancelled bool        // guarded by line.mu
}

// enter takes the next place, for work that begins a turn unless turn is nil. It is called
// by the reader only.
func (l *line) enter(turn *turnToCome) *place {
	p := &place{line: l, before: l.last, after: make(chan struct{}), turn: turn}
	l.last = p.after
	if turn == nil {
		return p
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.coming == nil {
		l.coming = map[*place]struct{}{}
	}
	l.coming[p] = struct{}{}
	return p
}

// cancel has the turns that are still to begin, and that match, end as soon as they begin.
// It returns false if there are none.
func (l *line) cancel(match func(turnToCome) bool) (found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.coming {
		if match(*p.turn) {
			p.cancelled, found = true, true
		}
	}
	return found
}

// wait returns when it is this place's turn, or when ctx ends.
func (p *place) wait(ctx context.Context) error {
	if p.before == nil {
		return nil
	}
	select {
	case <-p.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next lets the following one go on. More than once is the same as once.
func (p *place) next() { p.once.Do(func() { close(p.after) }) }

// begun is called when the turn can be cancelled by its session and its progress, or
// when it will not begin. It returns true if the turn was cancelled before.
func (p *place) begun() (cancelled bool) {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	delete(p.line.coming, p)
	return p.cancelled
}
