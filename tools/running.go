package tools

import (
	"context"
	"slices"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/filetime"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Running reports the start of a process that may change files directly. It returns when the
// process may start. The caller calls ended when the process has ended. A call does not count as
// running while it waits for the user: changes in this time are not its own.
func (e *Env) Running(ctx context.Context) (ended func()) {
	if e == nil || e.running == nil {
		return func() {}
	}
	return e.running.begin(ctx)
}

// HasRun reports whether a process of the call has been started. If this is unknown, it returns
// true.
func (e *Env) HasRun() bool { return e == nil || e.running == nil || e.running.hasRun() }

func (r *running) hasRun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// Waiting reports that the call waits for the user, until resume is called. Approval requests of
// the call's gate are reported already.
func (e *Env) Waiting(ctx context.Context) (resume func()) {
	if e == nil || e.running == nil {
		return func() {}
	}
	goOn := e.running.pause(ctx)
	filetime.Pass(ctx) // what the user saves meanwhile is not attributed to the agent
	return func() {
		filetime.Pass(ctx)
		goOn()
	}
}

// watching returns the Env of a call whose Admission has functions for its running.
func (b Admission) watching(env *Env) *Env {
	if len(b.Running) == 0 {
		return env
	}
	own := *env
	own.running = &running{told: b.Running}
	if env.Gate != nil {
		own.Gate = pausing{env.Gate, own.running}
	}
	return &own
}

// running reports when processes of a call run.
type running struct {
	told []func(ctx context.Context) (ended func())

	mu      sync.Mutex
	runs    int      // processes
	waits   int      // for answers of the user
	begun   bool     // a process was started
	endings []func() // nil: the start was not reported, or the end was reported
}

func (r *running) begin(ctx context.Context) (ended func()) {
	r.change(ctx, func() { r.runs, r.begun = r.runs+1, true })
	return sync.OnceFunc(func() { r.change(ctx, func() { r.runs-- }) })
}

// pause is called when the call begins to wait.
func (r *running) pause(ctx context.Context) (resume func()) {
	r.change(ctx, func() { r.waits++ })
	return func() { r.change(ctx, func() { r.waits-- }) }
}

// change applies a change and reports its result.
func (r *running) change(ctx context.Context, apply func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	apply()
	switch runs := r.runs > 0 && r.waits == 0; {
	case runs && r.endings == nil:
		for _, begin := range r.told {
			r.endings = append(r.endings, begin(ctx))
		}
	case !runs && r.endings != nil:
		for _, ended := range slices.Backward(r.endings) {
			ended()
		}
		r.endings = nil
	}
}

// pausing is the gate of a call. During an approval request, the call is not running.
type pausing struct {
	Approver
	running *running
}

// Check implements [Approver].
func (p pausing) Check(ctx context.Context, env *Env, c Call, kind Kind, title string, v policy.Verdict) error {
	defer p.running.pause(ctx)()
	return p.Approver.Check(ctx, env, c, kind, title, v)
}

// CheckEdit implements [Approver].
func (p pausing) CheckEdit(ctx context.Context, env *Env, c Call, e Edit) error {
	defer p.running.pause(ctx)()
	return p.Approver.CheckEdit(ctx, env, c, e)
}

// Wait implements [Approver].
func (p pausing) Wait(ctx context.Context) (leave func(), err error) {
	defer p.running.pause(ctx)()
	return p.Approver.Wait(ctx)
}

// ForSubagent implements [Approver].
func (p pausing) ForSubagent(owner, goal string) Approver {
	return pausing{p.Approver.ForSubagent(owner, goal), p.running}
}
