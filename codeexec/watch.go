package codeexec

import (
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// watched is a script under way, with everything that is kept of it.
type watched struct {
	r         *Runner
	desk      *desk
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
func (r *Runner) newWatch(env *tools.Env, s script) *watched {
	w := &watched{r: r, out: newOutput(r.cfg.MaxStdout, env), errs: newOutput(r.cfg.MaxStderr, env)}
	w.desk = r.desk(env, s.call, func() {
		w.stubborn.Store(true)
		w.halt(cancelGrace)
	})
	w.show = func() func() { return r.show(env, s.call, s.code, w.desk, w.out, w.errs) }
	return w
}

// begin is the script's beginning. stop ends it.
func (w *watched) begin(stop func(grace time.Duration)) {
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

func (w *watched) halt(grace time.Duration) {
	if stop := w.stop.Load(); stop != nil {
		(*stop)(grace)
	}
}

// end is the script's end. Its calls have ended before.
func (w *watched) end(exit proc.Exit, interrupted bool) ending {
	w.timer.Stop()
	w.hide()
	e := ending{
		exit: exit, took: time.Since(w.began), interrupted: interrupted,
		timedOut: w.expired.Load(), stubborn: w.stubborn.Load(), functions: w.desk.allowed,
	}
	e.calls, _ = w.desk.counts()
	e.record, e.changes = w.desk.records()
	e.out, e.full = w.out.finish()
	e.errs, e.fullErrs = w.errs.finish()
	return e
}
