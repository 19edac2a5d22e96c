package codeexec

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// kernelIdle is how long a kernel stays without a script.
const kernelIdle = 15 * time.Minute

const lostText = "The variables of earlier scripts are lost."

// kernelSlot holds the kernel of a session, which one script uses at a time.
type kernelSlot struct {
	lock   chan struct{} // guards the rest; a channel, so a canceled call need not wait
	idle   time.Duration
	kernel *kernel // nil: none
	reaper *time.Timer
}

func newKernelSlot(idle time.Duration) *kernelSlot {
	return &kernelSlot{lock: make(chan struct{}, 1), idle: idle}
}

// kernel is an interpreter that runs one script after another in one namespace.
type kernel struct {
	python    Python
	stage     *staging
	socket    *socket
	commands  *io.PipeWriter
	out, errs *splitter
	process   *proc.Process
	scripts   int
	planned   bool                         // it was started in plan mode
	settle    func(context.Context) string // reviews the changes since the last review

	gone chan struct{} // closed when the process has ended; then exit is valid
	exit proc.Exit
}

// close ends the kernel and waits for it.
func (k *kernelSlot) close() {
	k.lock <- struct{}{}
	defer func() { <-k.lock }()
	done, cancel := context.WithCancel(context.Background())
	cancel() // the user is not asked when the session ends
	k.end(done)
}

// end ends a running kernel and reviews its changes. If ctx is done, it denies them. The caller
// holds lock.
func (k *kernelSlot) end(ctx context.Context) (note string) {
	if k.reaper != nil {
		k.reaper.Stop()
	}
	if k.kernel != nil {
		note = k.kernel.end(ctx, cancelGrace)
		k.kernel = nil
	}
	return note
}

// reap ends an idle kernel.
func (k *kernelSlot) reap(ctx context.Context) {
	select {
	case k.lock <- struct{}{}:
		k.end(ctx)
		<-k.lock
	default: // a script uses it
	}
}

// execute runs a script in the session's kernel. If there is none, it starts one.
func (k *kernelSlot) execute(ctx context.Context, r *Runner, env *tools.Env, s script, reset bool) (done ending, err error) {
	select {
	case k.lock <- struct{}{}:
		defer func() { <-k.lock }()
	case <-ctx.Done():
		return done, ctx.Err()
	}
	if r.ctx.Err() != nil {
		return done, errClosed
	}
	if k.reaper != nil {
		k.reaper.Stop()
	}
	note := ""
	if old := k.kernel; old != nil && (reset || old.python.Path != s.python.Path || old.planned != env.Planning || old.dead()) {
		if !reset {
			note = lostText
		}
		note = joined(note, k.end(ctx))
	}
	if k.kernel == nil {
		if k.kernel, err = r.startKernel(ctx, env, s); err != nil {
			return done, err
		}
	}
	done, err = k.kernel.run(ctx, r, env, s)
	if k.kernel.dead() {
		note = joined(lostText, k.end(ctx))
	} else {
		k.reaper = time.AfterFunc(k.idle, func() { k.reap(r.ctx) })
	}
	done.note = joined(note, done.note)
	return done, err
}

func (r *Runner) startKernel(ctx context.Context, env *tools.Env, s script) (k *kernel, err error) {
	k = &kernel{python: s.python, planned: env.Planning, gone: make(chan struct{}), out: &splitter{}, errs: &splitter{}}
	if k.stage, err = newStaging(ctx, r.box(env)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			k.stage.remove()
		}
	}()
	if err := k.stage.fill(r.functionsOf(s.env)); err != nil {
		return nil, err
	}
	if k.socket, err = listen(k.stage.path("s")); err != nil {
		return nil, err
	}
	// Threads of a script go on between the scripts. So the kernel is a running command until it ends.
	places, err := gate.WatchPlaces(ctx, env, s.call, r.box(env), r.cfg.Secrets.Hide)
	if err != nil {
		k.socket.close()
		return nil, err
	}
	later := *env
	later.Progress = nil // the call is over by then
	k.settle = func(ctx context.Context) string { return places.Review(ctx, &later, s.call) }
	c := r.command(ctx, env, s.python, k.stage, k.socket, "kernel.py")
	c.Stdin, k.commands = io.Pipe()
	c.Stdout, c.Stderr = k.out, k.errs
	// Later scripts run in it too, so it gets no approvals of this script.
	if err = r.confine(ctx, env, &c, sandbox.Opening{}); err == nil {
		k.process, err = proc.Start(r.ctx, c)
	}
	if err != nil {
		k.settle(ctx)
		k.socket.close()
		return nil, fmt.Errorf("starting the scripts' interpreter: %w", err)
	}
	go func() { // ends with the process; end waits for it
		defer close(k.gone)
		k.exit, _ = k.process.Wait()
	}()
	return k, nil
}

func (k *kernel) dead() bool {
	select {
	case <-k.gone:
		return true
	default:
		return false
	}
}

func (k *kernel) end(ctx context.Context, grace time.Duration) (note string) {
	k.process.Stop(grace)
	<-k.gone
	note = k.settle(ctx)
	k.commands.Close() // never fails
	k.socket.close()
	k.stage.remove()
	return note
}

// run runs a script. The kernel continues, unless the script, its timeout or ctx ends it.
func (k *kernel) run(ctx context.Context, r *Runner, env *tools.Env, s script) (ending, error) {
	k.scripts++
	name := fmt.Sprintf("script%d.py", k.scripts)
	running := r.newRunningScript(env, s, r.functionsOf(s.env))
	k.socket.open(ctx, running.queue)
	token := rand.Text()
	outEnd, errEnd := k.out.begin(running.stdout(token), token), k.errs.begin(running.errs, token)
	release := context.AfterFunc(ctx, func() { k.process.Stop(cancelGrace) })
	defer release()
	defer env.Running(ctx)()
	running.begin(k.process.Stop)
	var exit proc.Exit
	// The interpreter writes the file: earlier scripts may have put links into its folder.
	if _, err := fmt.Fprintf(k.commands, "%s %d %s\n%s", token, len(s.code), k.stage.path(name), s.code); err == nil {
		exit.Code = k.await(outEnd, errEnd)
	} else {
		<-k.gone
	}
	if ctx.Err() != nil || running.timedOut.Load() { // then the process is being ended
		<-k.gone
	}
	if k.dead() {
		exit = k.exit
	}
	k.socket.shut()
	k.out.finish()
	k.errs.finish()
	done := running.end(exit, ctx.Err() != nil)
	done.errs = strings.ReplaceAll(done.errs, k.stage.dir+"/", "")
	return done, nil
}

// await waits for the end of a script on both streams, or for the end of the kernel.
func (k *kernel) await(outEnd, errEnd <-chan int) (code int) {
	for range 2 {
		select {
		case code = <-outEnd:
			outEnd = nil
		case code = <-errEnd:
			errEnd = nil
		case <-k.gone:
			return 0
		}
	}
	return code
}

// splitter passes the kernel's output to the running script, up to the end mark. Later output, such
// as a thread's, goes to the next script.
type splitter struct {
	mu    sync.Mutex
	to    io.Writer // nil: no script runs
	mark  []byte
	ended chan int
	held  []byte // perhaps the beginning of a mark, or output between scripts
}

// begin sends output to w from now on. At the mark, the channel gets the exit code.
func (s *splitter) begin(w io.Writer, token string) <-chan int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to, s.mark, s.ended = w, []byte("\x00hermes-end "+token+" "), make(chan int, 1)
	if len(s.held) > 0 {
		w.Write(s.held) // an output never fails
		s.held = nil
	}
	return s.ended
}

// finish sends no more output to the writer.
func (s *splitter) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to != nil && len(s.held) > 0 {
		s.to.Write(s.held) // an output never fails
		s.held = nil
	}
	s.to = nil
}

// strayLimit is how many bytes of output between scripts are held.
const strayLimit = 8 << 10

// Write takes output. It never returns an error.
func (s *splitter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := append(s.held, b...)
	s.held = nil
	if s.to == nil {
		s.held = bytes.Clone(data[max(0, len(data)-strayLimit):])
		return len(b), nil
	}
	at := bytes.Index(data, s.mark)
	if at < 0 {
		at = len(data) - beginning(data, s.mark)
		s.to.Write(data[:at]) // an output never fails
		s.held = bytes.Clone(data[at:])
		return len(b), nil
	}
	number, rest, whole := bytes.Cut(data[at+len(s.mark):], []byte{0})
	s.to.Write(data[:at]) // an output never fails
	if !whole {
		s.held = bytes.Clone(data[at:])
		return len(b), nil
	}
	code, _ := strconv.Atoi(string(number)) // a script can forge its exit code only
	s.to, s.held = nil, bytes.Clone(rest)
	s.ended <- code
	return len(b), nil
}

// beginning returns the length of the longest suffix of data that begins mark.
func beginning(data, mark []byte) int {
	for n := min(len(mark)-1, len(data)); n > 0; n-- {
		if bytes.HasSuffix(data, mark[:n]) {
			return n
		}
	}
	return 0
}
