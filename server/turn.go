package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/extension"
)

// Turn is a place in a session's queue: a prompt's, or a replay's.
type Turn struct {
	x      *Session
	work   func(ctx context.Context) (agent.StopReason, error)
	replay bool // not a prompt: a later one does not cancel it
	ctx    context.Context
	cancel context.CancelCauseFunc
	first  chan struct{} // closed when it is this turn's turn
	done   chan struct{} // closed when it has left the session
	err    error         // why there is no place for it
	since  time.Time     // when it came
}

func (x *Session) newTurn() *Turn {
	t := &Turn{x: x, since: time.Now(), first: make(chan struct{}), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(x.ctx)
	return t
}

// Start claims a place for a prompt, at once: what is started later comes later.
// By agent.on_new_prompt it cancels what runs and waits, or queues behind it.
// The events of this turn go to the host's sink and then to also, which may be
// nil. [Turn.Run] must follow.
func (x *Session) Start(in agent.Input, also agent.Sink) *Turn { return x.StartAs("", in, also) }

// What a prompt does to the turn that runs in its session.
const (
	Interrupt = "interrupt"
	Queue     = "queue"
)

// StartAs is Start for a user who has said what becomes of the turn that runs;
// empty leaves it to the configuration.
func (x *Session) StartAs(onNewPrompt string, in agent.Input, also agent.Sink) *Turn {
	if c, args, ok := x.slash(in); ok {
		return x.startCommand(c, in, args, also)
	}
	return x.start(onNewPrompt, func(ctx context.Context) (agent.StopReason, error) { return x.prompt(ctx, in, also) })
}

func (x *Session) start(onNewPrompt string, work func(context.Context) (agent.StopReason, error)) *Turn {
	t := x.newTurn()
	t.work = work
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		t.err = fmt.Errorf("session %q: %w", x.id, ErrClosed)
		return t
	}
	if cmp.Or(onNewPrompt, x.conf.Agent.OnNewPrompt) != Queue {
		for _, before := range x.turns {
			if !before.replay {
				before.cancel(errNewPrompt)
			}
		}
	}
	x.enter(t)
	return t
}

// StartReplay claims a place for showing the log to sink. While a turn runs it is
// refused, because the two would mix. [Turn.Run] must follow.
func (x *Session) StartReplay(sink agent.Sink) (*Turn, error) {
	return x.quiet(func(ctx context.Context) (agent.StopReason, error) {
		if x.draft() {
			return "", nil
		}
		a, err := x.begin(ctx)
		if err != nil {
			return "", err
		}
		return "", a.Replay(ctx, sink)
	})
}

// quiet claims a place for work that no turn may mix with: none runs, and those that
// are started meanwhile wait for it.
func (x *Session) quiet(work func(context.Context) (agent.StopReason, error)) (*Turn, error) {
	t := x.newTurn()
	t.work, t.replay = work, true
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.turns) > 0 || x.closed {
		t.cancel(nil)
		return nil, fmt.Errorf("session %q: %w", x.id, ErrRunning)
	}
	x.enter(t)
	return t, nil
}

func (x *Session) enter(t *Turn) {
	x.turns = append(x.turns, t)
	if len(x.turns) == 1 {
		close(t.first)
	}
}

// Run waits for the turn's place and runs it. The end of ctx, a later prompt and
// [Session.Cancel] end it with [agent.Cancelled] and no error. When Run returns,
// nothing of the turn runs any more.
func (t *Turn) Run(ctx context.Context) (agent.StopReason, error) {
	if t.err != nil {
		t.cancel(nil)
		return "", t.err
	}
	defer t.x.wake()
	defer t.leave()
	end := func() {
		cause := context.Cause(ctx)
		if errors.Is(cause, context.Canceled) { // the editor took its request back
			cause = errCancelled
		}
		t.cancel(cause)
	}
	if ctx.Err() != nil { // AfterFunc would be late: it uses another goroutine
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

func (x *Session) prompt(ctx context.Context, in agent.Input, also agent.Sink) (agent.StopReason, error) {
	if err := x.ready(); err != nil {
		return "", err
	}
	a, err := x.begin(ctx)
	if err != nil {
		return "", err
	}
	sink := x.svc.Instruments.sink(x.id, x.host.Sink(x.id))
	if also != nil {
		sink = both{sink, also}
	}
	x.tellProblems(sink)
	events := x.extensions.Events()
	defer events.Turn(ctx, extension.Prompt{SessionID: x.id, Text: in.Text})()
	added, block := beforePrompt(ctx, x, in)
	if block != "" {
		sink.Event(agent.Notice{Text: block})
		return agent.EndTurn, nil
	}
	in.News = slices.Concat(in.News, added, x.extensions.Notices(ctx, extension.WithPrompt))
	x.mu.Lock()
	x.woken = false
	x.mu.Unlock()
	defer x.prompted()
	return a.Turn(ctx, in, sink)
}

// beforePrompt calls the functions at the start of a session, and of its prompts. It
// returns texts for the model, or the reason why the prompt is not sent.
func beforePrompt(ctx context.Context, x *Session, in agent.Input) (added []string, block string) {
	events := x.extensions.Events()
	if x.draft() {
		added = events.SessionStart(ctx, eventOf(x))
	}
	more, block := events.Prompt(ctx, extension.Prompt{SessionID: x.id, Text: in.Text})
	return append(added, more...), block
}

func eventOf(x *Session) extension.SessionEvent {
	return extension.SessionEvent{SessionID: x.id, Folders: x.ws.Folders()}
}

// Waker is a [Host] that can tell its user, or its plugin, that notices wait for the
// next prompt while no turn runs.
type Waker interface {
	NoticesWaiting(x *Session)
}

// wake tells the host, once, of notices that wait while no turn runs.
func (x *Session) wake() {
	w, ok := x.host.(Waker)
	if !ok || !x.extensions.Waiting() {
		return
	}
	x.mu.Lock()
	quiet := len(x.turns) > 0 || x.woken || x.closed
	if !quiet {
		x.woken = true
	}
	x.mu.Unlock()
	if !quiet {
		w.NoticesWaiting(x)
	}
}

// both shows events to two sinks.
type both [2]agent.Sink

func (b both) Event(e agent.Event) {
	b[0].Event(e)
	b[1].Event(e)
}

// leave lets the next turn run. A turn that was cancelled while it waited leaves
// from the middle of the queue.
func (t *Turn) leave() {
	x := t.x
	x.mu.Lock()
	defer x.mu.Unlock()
	x.turns = slices.DeleteFunc(x.turns, func(o *Turn) bool { return o == t })
	if len(x.turns) > 0 {
		select {
		case <-x.turns[0].first:
		default:
			close(x.turns[0].first)
		}
	}
	t.cancel(nil)
	close(t.done)
}

// Prompt runs a turn; see [Session.Start] and [Turn.Run].
func (x *Session) Prompt(ctx context.Context, in agent.Input, also agent.Sink) (agent.StopReason, error) {
	return x.Start(in, also).Run(ctx)
}

// Cancel ends the turn that runs and those that wait; false: there was none. It
// does not wait for them.
func (x *Session) Cancel() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range x.turns {
		t.cancel(errCancelled)
	}
	return len(x.turns) > 0
}

// Running reports whether a turn runs or waits.
func (x *Session) Running() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.turns) > 0
}
