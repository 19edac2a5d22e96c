package lsp

import (
	"context"
	"sync"

	lsp "go.lsp.dev/protocol"
)

// queue keeps the order of requests after they leave the reader: each waits until its predecessor
// has released its ticket. It also knows the turns not yet started, so a cancel reaches them.
type queue struct {
	last chan struct{} // used only by the reader

	mu      sync.Mutex
	pending map[*ticket]struct{}
}

// pendingTurn is a turn for a message.
type pendingTurn struct {
	session string            // as in the message; empty: the current session
	token   lsp.ProgressToken // of the editor's own progress; nil: none
}

// ticket is a position in the queue.
type ticket struct {
	queue  *queue
	before <-chan struct{}
	after  chan struct{}
	once   sync.Once

	turn      *pendingTurn // nil: none
	cancelled bool         // guarded by queue.mu
}

// acquire returns the next ticket. If the request starts no turn, turn is nil. Only the
// reader calls it.
func (l *queue) acquire(turn *pendingTurn) *ticket {
	p := &ticket{queue: l, before: l.last, after: make(chan struct{}), turn: turn}
	l.last = p.after
	if turn == nil {
		return p
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending == nil {
		l.pending = map[*ticket]struct{}{}
	}
	l.pending[p] = struct{}{}
	return p
}

// cancel marks the matching turns that have not started; they end as soon as they start. If there
// are none, it returns false.
func (l *queue) cancel(match func(pendingTurn) bool) (found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pending {
		if match(*p.turn) {
			p.cancelled, found = true, true
		}
	}
	return found
}

// wait returns when the earlier tickets are released, or when ctx ends.
func (p *ticket) wait(ctx context.Context) error {
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

// release lets the next ticket continue. It may be called more than once.
func (p *ticket) release() { p.once.Do(func() { close(p.after) }) }

// begin records that the turn can now be canceled by its session and its progress, or will not
// start. If the turn was canceled before, it returns true.
func (p *ticket) begin() (cancelled bool) {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	delete(p.queue.pending, p)
	return p.cancelled
}
