package codeexec

import (
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// runningScript is a script under way, with everything that is kept of it.
type runningScript struct {
	r         *Runner
	queue     *callQueue
	out, errs *output
	show      func() (hide func())

	began    time.Time
	timer    *time.Timer
	hide     func()
	stop     atomic.Pointer[func(grace time.Duration)]
	expired  atomic.Bool
	stubborn atomic.Bool
}

// newWatch prepares for a script that has not begun.
func (r *Runner) newRunningScript(env *tools.Env, s script, functions []function) *runningScript {
	w := &runningScript{r: r, out: newOutput(r.cfg.MaxStdout, env), errs: newOutput(r.cfg.MaxStderr, env)}
	w.queue = &callQueue{functions: functions, limit: r.cfg.MaxCalls, run: caller(env, s.call), onLimitAbuse: func() {
		w.stubborn.Store(true)
		w.halt(cancelGrace)
	}}
	w.show = func() func() { return r.show(env, s.call, s.code, w.queue, w.out, w.errs) }
	return w
}

// begin is the script's beginning. stop ends it.
func (w *runningScript) begin(stop func(grace time.Duration)) {
	w.began = time.Now()
	w.stop.Store(&stop)
	if w.stubborn.Load() { // that early, before there was something to stop
		stop(cancelGrace)
	}
	w.timer = w.r.after(w.r.cfg.Timeout, func() {
		w.expired.Store(true)
		w.halt(w.r.grace)
	})
	w.hide = w.show()
}

func (w *runningScript) halt(grace time.Duration) {
	if stop := w.stop.Load(); stop != nil {
		(*stop)(grace)
	}
}

// end is the script's end. Its calls have ended before.
func (w *runningScript) end(exit proc.Exit, interrupted bool) ending {
	w.timer.Stop()
	w.hide()
	e := ending{
		exit: exit, took: time.Since(w.began), interrupted: interrupted,
		timedOut: w.expired.Load(), stubborn: w.stubborn.Load(), functions: namesOf(w.queue.functions),
	}
	e.calls, _ = w.queue.counts()
	e.record, e.changes = w.queue.records()
	e.out, e.full = w.out.finish()
	e.errs, e.fullErrs = w.errs.finish()
	return e
}
