package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
)

// queue holds the turns of a session. The first turn runs, the others wait.
type queue struct {
	id   string          // of the session
	ctx  context.Context // ends with the session
	end  context.CancelCauseFunc
	idle func() // is called when a turn has left the queue

	mu       sync.Mutex
	turns    []*Turn
	notified bool // the host knows of the waiting notices
	canceled bool // by the user, who has sent no prompt since then
	closed   bool
}

func newQueue(ctx context.Context, id string, idle func()) *queue {
	q := &queue{id: id, idle: idle}
	q.ctx, q.end = context.WithCancelCause(ctx)
	return q
}

// Turn is an entry of a session's queue: a prompt, a replay or other exclusive work.
type Turn struct {
	queue     *queue
	work      func(ctx context.Context) (agent.StopReason, error)
	exclusive bool // not a prompt: a later prompt does not cancel it
	quiet     bool // its end wakes nothing: [Session.Warm] does
	ctx       context.Context
	cancel    context.CancelCauseFunc
	first     chan struct{} // closed when the turn is the first of the queue
	done      chan struct{} // closed when it has left the queue
	err       error         // the reason why it was not queued
	since     time.Time
}

func (q *queue) newTurn(work func(context.Context) (agent.StopReason, error)) *Turn {
	t := &Turn{queue: q, work: work, since: time.Now(), first: make(chan struct{}), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(q.ctx)
	return t
}

func (q *queue) errClosed() error { return fmt.Errorf("session %q: %w", q.id, ErrClosed) }

// add appends a turn. If interrupt is true, it cancels the prompts in the queue.
func (q *queue) add(interrupt bool, work func(context.Context) (agent.StopReason, error)) *Turn {
	t := q.newTurn(work)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		t.err = q.errClosed()
		return t
	}
	if interrupt {
		for _, before := range q.turns {
			if !before.exclusive {
				before.cancel(errNewPrompt)
			}
		}
	}
	q.enter(t)
	return t
}

// beside returns a turn outside of the queue: it runs beside other turns.
func (q *queue) beside(work func(context.Context) (agent.StopReason, error)) *Turn {
	t := q.newTurn(work)
	close(t.first)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		t.err = q.errClosed()
	}
	return t
}

// exclusive appends work to the queue that runs while no turn runs. Later prompts wait for it. If a
// turn runs, it returns [ErrRunning].
func (q *queue) exclusive(work func(context.Context) (agent.StopReason, error)) (*Turn, error) {
	t := q.newTurn(work)
	t.exclusive = true
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) > 0 || q.closed {
		t.cancel(nil)
		return nil, fmt.Errorf("session %q: %w", q.id, ErrRunning)
	}
	q.enter(t)
	return t, nil
}

// runExclusive runs work while no turn runs; see exclusive.
func (q *queue) runExclusive(ctx context.Context, work func(context.Context) error) error {
	t, err := q.exclusive(func(ctx context.Context) (agent.StopReason, error) { return "", work(ctx) })
	if err != nil {
		return err
	}
	stop, err := t.Run(ctx)
	if err == nil && stop == agent.Cancelled {
		err = context.Canceled
	}
	return err
}

func (q *queue) enter(t *Turn) {
	q.turns = append(q.turns, t)
	if len(q.turns) == 1 {
		close(t.first)
	}
}

// leave removes a turn. If it was the first, the next turn starts.
func (q *queue) leave(t *Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns = slices.DeleteFunc(q.turns, func(o *Turn) bool { return o == t })
	if len(q.turns) > 0 {
		select {
		case <-q.turns[0].first:
		default:
			close(q.turns[0].first)
		}
	}
	t.cancel(nil)
	close(t.done)
}

// Run waits until the turn is the first of its queue, and runs it. The end of ctx, a later
// prompt and [Session.Cancel] end it with [agent.Cancelled] and no error. When Run returns,
// all goroutines of the turn have ended.
func (t *Turn) Run(ctx context.Context) (agent.StopReason, error) {
	if t.err != nil {
		t.cancel(nil)
		return "", t.err
	}
	if !t.quiet {
		defer t.queue.idle()
	}
	defer t.queue.leave(t)
	end := func() {
		if context.Cause(ctx) == context.Canceled { // only a canceled request has exactly this cause
			t.queue.cancelTurn(t)
			return
		}
		t.cancel(errClosing) // the connection has ended, and Stop may come later
	}
	if ctx.Err() != nil { // AfterFunc would be late, because it uses another goroutine
		end()
	}
	unlink := context.AfterFunc(ctx, end)
	defer unlink()
	select {
	case <-t.first:
	case <-t.ctx.Done():
	}
	if t.ctx.Err() != nil {
		return agent.Cancelled, nil
	}
	stop, err := t.work(t.ctx)
	if t.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return agent.Cancelled, nil
	}
	return stop, err
}

// cancel cancels all turns. It does not wait for them. If there is none, it returns false.
func (q *queue) cancel() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.canceled = true
	for _, t := range q.turns {
		t.cancel(errCancelled)
	}
	return len(q.turns) > 0
}

// cancelTurn cancels a turn, for the user.
func (q *queue) cancelTurn(t *Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.canceled = true
	t.cancel(errCancelled)
}

// held reports whether the user has canceled, and sent no prompt since then.
func (q *queue) held() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.canceled
}

// halt cancels all prompts, and waits until all turns have ended.
func (q *queue) halt(ctx context.Context) error {
	q.mu.Lock()
	turns := slices.Clone(q.turns)
	q.canceled = true
	q.mu.Unlock()
	for _, t := range turns {
		if !t.exclusive {
			t.cancel(errCancelled)
		}
	}
	for _, t := range turns {
		select {
		case <-t.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// close rejects new turns, cancels the turns in the queue, and waits for them.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	turns := slices.Clone(q.turns)
	q.mu.Unlock()
	q.end(errClosing)
	for _, t := range turns {
		select {
		case <-t.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the running turn: %w", context.Cause(ctx))
		}
	}
	return nil
}

// waiting reports whether the queue holds a turn behind the running one.
func (q *queue) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.turns) > 1
}

func (q *queue) running() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.turns) > 0
}

// wake reports whether to notify the host of waiting notices: once after each prompt, while no turn
// runs.
func (q *queue) wake() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) > 0 || q.notified || q.closed {
		return false
	}
	q.notified = true
	return true
}

// prompted makes the next wake return true. If the prompt is the user's (no note), held returns
// false from now on, unless ctx, the turn's, is canceled already.
func (q *queue) prompted(ctx context.Context, note bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notified = false
	q.canceled = q.canceled && (note || ctx.Err() != nil)
}

// state describes the turns, for [Service.Inspect].
func (q *queue) state() []TurnState {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []TurnState
	for i, t := range q.turns {
		all = append(all, TurnState{Replay: t.exclusive, Running: i == 0, Cancelled: t.ctx.Err() != nil, Since: t.since})
	}
	return all
}
