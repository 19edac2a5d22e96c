package codeexec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// runningScript is a script from its start to its end, with its calls and its output.
type runningScript struct {
	runner    *Runner
	queue     *callQueue
	out, errs *output
	show      func() (hide func())

	began      time.Time
	hide       func()
	timedOut   atomic.Bool
	limitAbuse atomic.Bool

	mu      sync.Mutex
	stop    func(grace time.Duration) // nil: the process has not started
	started bool                      // the interpreter is ready, and the script runs
	timer   *time.Timer               // nil before begin
}

// startLimit is the start time allowed for an interpreter, in addition to the script's timeout. On
// a busy machine a start takes seconds.
const startLimit = time.Minute

// newRunningScript returns an unstarted script.
func (r *Runner) newRunningScript(env *tools.Env, s script, functions []tools.Tool) *runningScript {
	secrets := r.cfg.Secrets
	x := &runningScript{runner: r, out: newOutput(r.cfg.MaxStdout, env.OutputDir, secrets), errs: newOutput(r.cfg.MaxStderr, env.OutputDir, secrets)}
	x.queue = &callQueue{functions: functions, limit: r.cfg.MaxCalls, run: r.caller(s), onLimitAbuse: func() {
		x.limitAbuse.Store(true)
		x.halt(cancelGrace)
	}}
	x.show = func() func() { return r.show(env, s.call, s.code, x.queue, x.out, x.errs) }
	return x
}

// begin is called when the process of the script has started. stop ends the process.
func (x *runningScript) begin(stop func(grace time.Duration)) {
	x.began = time.Now()
	x.mu.Lock()
	x.stop = stop
	x.setTimer()
	x.mu.Unlock()
	if x.limitAbuse.Load() { // before stop was set
		stop(cancelGrace)
	}
	x.hide = x.show()
}

// start is called when the interpreter is ready. From then on the script's time counts.
func (x *runningScript) start() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.started = true
	if x.timer != nil {
		x.timer.Stop()
		x.setTimer()
	}
}

// setTimer sets the timer of the timeout. Its caller holds mu.
func (x *runningScript) setTimer() {
	limit := x.runner.cfg.Timeout
	if !x.started {
		limit += startLimit
	}
	x.timer = x.runner.after(limit, func() {
		x.timedOut.Store(true)
		x.halt(x.runner.grace)
	})
}

func (x *runningScript) halt(grace time.Duration) {
	x.mu.Lock()
	stop := x.stop
	x.mu.Unlock()
	if stop != nil {
		stop(grace)
	}
}

// stdout returns a writer for the script's output. The interpreter writes a mark with token
// when it is ready, which the writer removes.
func (x *runningScript) stdout(token string) io.Writer {
	return &startWriter{to: x.out, mark: []byte("\x00hermes-start " + token + "\x00"), start: x.start}
}

// startWriter calls start at the first mark in the output, and passes on the rest.
type startWriter struct {
	to    io.Writer
	mark  []byte // nil: it has come
	start func()
	held  []byte // perhaps the beginning of the mark
}

func (w *startWriter) Write(b []byte) (int, error) {
	if w.mark == nil {
		return w.to.Write(b)
	}
	data := append(w.held, b...)
	before, after, found := bytes.Cut(data, w.mark)
	if found {
		w.mark, w.held = nil, nil
		w.start()
		w.to.Write(append(before[:len(before):len(before)], after...)) // an output never fails
		return len(b), nil
	}
	n := len(data) - beginning(data, w.mark)
	w.to.Write(data[:n]) // an output never fails
	w.held = bytes.Clone(data[n:])
	return len(b), nil
}

// end is called when the process of the script and its calls have ended.
func (x *runningScript) end(exit proc.Exit, interrupted bool) ending {
	x.mu.Lock()
	x.timer.Stop()
	x.mu.Unlock()
	x.hide()
	e := ending{
		exit: exit, took: time.Since(x.began), interrupted: interrupted,
		timedOut: x.timedOut.Load(), limitAbuse: x.limitAbuse.Load(), functions: x.queue.functions,
	}
	e.calls, _ = x.queue.counts()
	e.record, e.changes = x.queue.records()
	e.out, e.full = x.out.finish()
	e.errs, e.fullErrs = x.errs.finish()
	return e
}

const (
	showEvery = 100 * time.Millisecond
	longCode  = 8 << 10 // bytes of code shown while it runs
)

// show reports the running script to the editor: its code, output, calls and time. Call hide to
// stop.
func (r *Runner) show(env *tools.Env, call tools.Call, code string, q *callQueue, out, errs *output) (hide func()) {
	if env.Progress == nil {
		return func() {}
	}
	script := code
	if len(script) > longCode {
		script = script[:longCode] + "\n…"
	}
	script = markup.Fenced("python", script)
	env.Progress(tools.Progress{CallID: call.ID, Line: r.line(q, 0), Shown: []tools.Content{{Text: script}}})

	done := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(showEvery)
		defer tick.Stop()
		began := time.Now()
		var lastLine string
		var lastSize int64
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			end, size := out.live()
			errEnd, errSize := errs.live()
			line := r.line(q, time.Since(began))
			if line == lastLine && size+errSize == lastSize {
				continue
			}
			p := tools.Progress{CallID: call.ID, Line: line}
			if size+errSize != lastSize {
				p.Shown = []tools.Content{{Text: script}, {Text: markup.Fenced("", strings.TrimSpace(end+"\n"+errEnd))}}
			}
			lastLine, lastSize = line, size+errSize
			env.Progress(p)
		}
	})
	return func() { close(done); showing.Wait() }
}

// line returns "execute_code · 3/50 calls · 12 s · read_file main.go".
func (r *Runner) line(q *callQueue, took time.Duration) string {
	made, now := q.counts()
	line := fmt.Sprintf("execute_code · %d/%d calls · %d s", made, r.cfg.MaxCalls, int(took.Seconds()))
	if now != nil {
		line += " · " + brief(now.tool, now.args)
	}
	return line
}

// brief names a call by its tool and its main argument.
func brief(tool string, args json.RawMessage) string {
	var in struct{ Path, Command, Pattern, Query string }
	_ = json.Unmarshal(args, &in) // arguments of other types are not shown
	for _, about := range []string{in.Command, in.Pattern, in.Query, in.Path} {
		if about != "" {
			return tool + " " + shorten.OneLine(about, 60)
		}
	}
	return tool
}
