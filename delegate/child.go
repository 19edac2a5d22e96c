package delegate

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// child is a running or finished subagent of this process.
type child struct {
	*Task
	owner  *Children
	env    *tools.Env // of the parent's call
	ctx    context.Context
	cancel context.CancelCauseFunc
	began  time.Time
	prompt int // number of the user's prompt it works for
	budget *budget
	done   chan struct{} // closed when outcome is set and all goroutines have ended

	mu        sync.Mutex
	worker    Worker // nil: it does not run
	record    record
	pending   []string // messages received between turns
	closed    bool     // its last turn is over
	delivered bool     // the parent got the result
	handed    bool     // delivery not yet stored

	outcome *outcome // set before done is closed
}

func (x *Children) newChild(ctx context.Context, env *tools.Env, t *Task) *child {
	c := &child{Task: t, owner: x, env: env, began: time.Now(), prompt: x.promptNumber(), done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.record.last = c.began
	return c
}

// run runs a child from its start to its end.
func (x *Children) run(c *child, limits Limits) {
	defer close(c.done)
	defer c.cancel(nil)
	if c.message != "" { // otherwise its session is stored with its task
		x.archive.keep(context.WithoutCancel(c.ctx), c.ID, origin{Task: *c.Task})
	}
	stop, merge, err := c.work(limits)
	c.mu.Lock()
	c.worker = nil
	c.outcome = c.conclude(stop, err)
	c.outcome.Changes = merge
	c.mu.Unlock()
	x.archive.keep(context.WithoutCancel(c.ctx), c.ID, c.result())
	x.emit(c.endEvent())
	e := c.event()
	e.Status, e.Summary = c.outcome.Status, c.outcome.Summary
	x.Extensions().Events().SubagentStop(context.WithoutCancel(c.ctx), e)
}

// event describes the child for extensions.
func (c *child) event() extension.SubagentEvent {
	return extension.SubagentEvent{SessionID: c.ID, ParentID: c.Parent, Goal: c.Goal}
}

// announce reports a waiting result.
func (x *Children) announce(c *child) {
	if c.Background && x.Ended != nil && x.ctx.Err() == nil {
		x.Ended()
	}
}

// work opens a worker, runs the task and closes the worker. A panic ends only this child.
func (c *child) work(limits Limits) (stop agent.StopReason, merge *worktree.Merge, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.owner.Log.Error("a subagent panicked", "session", c.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("failed by a mistake in hermes-ls: %v", p)
		}
	}()
	w, err := c.owner.Runner.Open(c.ctx, c.env, c.Task)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		var closing error
		complete := c.completed(stop, err)
		ctx := c.ctx
		if !complete {
			ctx = context.WithoutCancel(ctx)
		}
		merge, closing = w.Close(ctx, complete)
		err = errors.Join(err, closing)
	}()
	c.mu.Lock()
	c.worker = w
	c.mu.Unlock()
	if limits.Inactivity > 0 {
		var watching sync.WaitGroup
		over := make(chan struct{})
		watching.Go(func() { c.watch(limits.Inactivity, over) })
		defer watching.Wait()
		defer close(over)
	}
	stop, err = c.turns(w)
	return stop, nil, err
}

// turns runs the task. If the answer does not fit the schema, it asks once more.
func (c *child) turns(w Worker) (agent.StopReason, error) {
	text := c.Goal
	if c.message != "" {
		text = c.message
	}
	started := c.owner.Extensions().Events().SubagentStart(c.ctx, c.event())
	stop, err := w.Turn(c.ctx, agent.Input{Text: text, News: started}, c)
	for err == nil && stop == agent.EndTurn {
		if text = c.nextPrompt(); text == "" {
			break
		}
		stop, err = w.Turn(c.ctx, agent.Input{Text: text}, c)
	}
	schema, _ := resolved(c.Schema) // was checked by plan
	if err == nil && stop == agent.MaxTurnRequests && c.limit() == "" {
		c.lastReport(w, schema)
	}
	if schema == nil || err != nil || stop != agent.EndTurn {
		return stop, err
	}
	wrong := c.answer(schema)
	if wrong == nil {
		return stop, nil
	}
	again := fmt.Sprintf("Your answer does not fit the schema: %v\n\nAnswer once more, with one JSON value that fits it and nothing else.", wrong)
	if stop, err = w.Turn(c.ctx, agent.Input{Text: again}, c); err == nil && stop == agent.EndTurn {
		wrong = c.answer(schema)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record.misfit = wrong
	return stop, err
}

// lastReport asks for a report in an additional request, without tools, because the task has
// used up its requests. If there is no answer, the child has no report.
func (c *child) lastReport(w Worker, schema *jsonschema.Resolved) {
	text := fmt.Sprintf(lastReportText, c.Iterations)
	if schema != nil {
		text += " Answer with one JSON value that fits the schema and nothing else."
	}
	c.mu.Lock()
	text = strings.Join(append([]string{text}, c.pending...), "\n\n")
	c.pending, c.closed = nil, true
	c.mu.Unlock()
	stop, err := w.Turn(c.ctx, agent.Input{Text: text, Report: true}, c)
	if err != nil || stop != agent.EndTurn && stop != agent.MaxTokens {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.record.reply() // its text was not a report
		return
	}
	if schema == nil {
		return
	}
	wrong := c.answer(schema)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record.misfit = wrong
}

// limit returns the reason if a limit of the user's has stopped the child.
func (c *child) limit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.record.limit
}

const lastReportText = "All %d requests of this task are used up (max_iterations), so no more tools can be called. " +
	"Report now: what you found, what you changed, and what is still to do."

// completed reports whether this end of the work has the status completed.
func (c *child) completed(stop agent.StopReason, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conclude(stop, err).Status == completed
}

// steer sends text to the running child. If its last turn has ended, it returns false.
func (c *child) steer(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.ctx.Err() != nil || c.outcome != nil {
		return false
	}
	if c.worker == nil || !c.worker.Steer(text) {
		c.pending = append(c.pending, text) // no turn runs, or the turn is ending
	}
	return true
}

// steerPending sends the pending messages to the started turn. The caller holds the lock.
func (c *child) steerPending() {
	for len(c.pending) > 0 && c.worker != nil && c.worker.Steer(c.pending[0]) {
		c.pending = c.pending[1:]
	}
}

// nextPrompt returns the messages received between turns. If there are none, it rejects later
// messages.
func (c *child) nextPrompt() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(c.pending, "\n\n")
	c.pending, c.closed = nil, text == ""
	return text
}

// Event is called with the events of the child's turns.
func (c *child) Event(e agent.Event) {
	c.mu.Lock()
	spent := c.record.add(e)
	if _, begun := e.(agent.UserMessage); begun {
		c.steerPending()
	}
	c.mu.Unlock()
	c.owner.emit(agent.ChildEvent{SessionID: c.ID, Event: e})
	c.budget.spend(spent)
}

// watch stops a child without events for limit. After two thirds of it, the user gets a
// warning.
func (c *child) watch(limit time.Duration, over <-chan struct{}) {
	early, warned := limit-limit/3, time.Time{}
	timer := time.NewTimer(early)
	defer timer.Stop()
	for {
		select {
		case <-over:
			return
		case <-timer.C:
		}
		c.mu.Lock()
		last := c.record.last
		c.mu.Unlock()
		switch idle := time.Since(last); {
		case idle >= limit:
			c.cancel(fmt.Errorf("%w for %v (delegation.inactivity_timeout)", errInactive, limit))
			return
		case idle >= early:
			if !warned.Equal(last) {
				warned = last
				c.owner.emit(agent.ChildEvent{SessionID: c.ID, Event: agent.Notice{
					Text: fmt.Sprintf("The subagent “%s” has shown no sign of life for %v; it is stopped after %v.", headline(c.Goal, 80), idle.Round(time.Second), limit)}})
			}
			timer.Reset(limit - idle)
		default:
			timer.Reset(early - idle)
		}
	}
}

// editorChild describes the child for the editor.
func (c *child) editorChild() agent.Child {
	return agent.Child{SessionID: c.ID, ParentID: c.Parent, CallID: c.Call, Goal: c.Goal, Model: c.Model, Background: c.Background}
}

// canceledByUser reports whether the child ended, or will, because the user canceled its turn.
func (c *child) canceledByUser() bool { return tools.CanceledByUser(c.ctx) }

// hasEnded reports whether the child has ended.
func (c *child) hasEnded() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *child) startEvent() agent.ChildStarted {
	return agent.ChildStarted{Child: c.editorChild(), Stop: func() { c.cancel(errStopped) }}
}

func (c *child) endEvent() agent.ChildEnded {
	o := c.outcome
	return agent.ChildEnded{
		Child: c.editorChild(), Status: o.Status, Summary: o.Summary, Error: o.Error,
		Calls: len(c.record.trace), Usage: c.record.usage, Duration: time.Since(c.began),
	}
}

// budget counts the tokens of all children of a call.
type budget struct {
	limit    int
	children []*child // set before the first child runs

	mu   sync.Mutex
	used int
}

// spend adds tokens. Above the limit, it cancels all children.
func (b *budget) spend(tokens int) {
	if b.limit <= 0 || tokens == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used += tokens; b.used <= b.limit {
		return
	}
	for _, c := range b.children {
		c.cancel(fmt.Errorf("%w: %d of %d", errTokens, b.used, b.limit))
	}
}
