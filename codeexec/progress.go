package codeexec

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	showEvery = 100 * time.Millisecond
	longCode  = 8 << 10 // bytes of a script that are shown while it runs
)

// show tells the editor of the script while it runs: its code, its output as it
// comes, its calls and its time, until the function it returns is called.
func (r *Runner) show(env *tools.Env, call tools.Call, code string, q *callQueue, out, errs *output) (hide func()) {
	if env.Progress == nil {
		return func() {}
	}
	script := code
	if len(script) > longCode {
		script = script[:longCode] + "\n…"
	}
	script = fenced("python", script)
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
				p.Shown = []tools.Content{{Text: script}, {Text: fenced("", strings.TrimSpace(end+"\n"+errEnd))}}
			}
			lastLine, lastSize = line, size+errSize
			env.Progress(p)
		}
	})
	return func() { close(done); showing.Wait() }
}

// line is "execute_code · 3/50 calls · 12 s · read_file main.go".
func (r *Runner) line(q *callQueue, took time.Duration) string {
	made, now := q.counts()
	line := fmt.Sprintf("execute_code · %d/%d calls · %d s", made, r.cfg.MaxCalls, int(took.Seconds()))
	if now != nil {
		line += " · " + brief(now.tool, now.args)
	}
	return line
}
