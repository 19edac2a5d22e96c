package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// Holders keeps the namespaces and mounts of plans for later commands. Each plan has a holder,
// which is the init process of a PID namespace. A command in it costs only the start of its
// program. Commands of a plan see each other's processes, as in a terminal. The zero Holders is
// ready for use.
//
// A holder is used as long as the plan and its named files and folders are the same. Nothing in it
// outlives the server.
type Holders struct {
	mu     sync.Mutex
	all    []*holder // the most recently used last
	closed bool
}

const (
	mostIdle  = 2               // kept holders without a command
	idleLimit = 5 * time.Minute // and how long
)

// errUnchanged is returned if all paths were protected already.
var errUnchanged = errors.New("all was protected already")

var errClosed = errors.New("the session is closed")

// Held reports whether the command runs in a holder: it may share one, has a PID namespace, and
// needs no separate mounts or rights.
func (c Cmd) Held() bool {
	return c.Together && c.Holders != nil && c.Confine != nil && c.Confine.Apart() && c.Confine.Processes && c.Scratch == "" && !c.Trusted
}

// mostTakes is how many workers and holders take tries. All waiting workers could have ended; more
// failures are no accident.
const mostTakes = 8

// errUnreachable is returned if no holder takes a command. A command can cause this: the kernel
// bounds the descriptors in flight of all a user's processes.
var errUnreachable = errors.New("no process of the sandbox takes the command. Nothing was run. A background command can cause this; stop those that you do not need, and try again")

// take finds the holder of a command's plan, or makes one, and gives the command's descriptors to a
// worker in it. It skips workers that have ended meanwhile. If no worker takes the command, it
// returns [errUnreachable].
func (h *Holders) take(ctx context.Context, c Cmd, files []*os.File, g *group) (owner, error) {
	m := commandMessage(c, files, g)
	for range mostTakes {
		holder, err := h.of(ctx, c.Confine, c.Shown)
		if err != nil {
			return nil, err
		}
		w, err := holder.worker(ctx, c.Limits)
		if err == nil {
			if spec.Send(w.socket, m) == nil {
				return w, nil
			}
			w.release(false)
		}
		h.done(holder, errors.Is(err, errStale))
		if err != nil && !errors.Is(err, errStale) {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, errUnreachable
}

func commandMessage(c Cmd, files []*os.File, g *group) spec.Message {
	m := spec.Message{Kind: spec.RunCommand, Fields: []string{""}}
	for _, f := range files {
		m.Files = append(m.Files, int(f.Fd()))
	}
	if c.Stdin != nil || c.PTY != nil {
		m.Fields[0] += spec.WithInput
	}
	if c.Left != nil {
		m.Fields[0] += spec.WithLeft
		m.Files = append(m.Files, int(c.Left.Fd()))
	}
	if g != nil {
		m.Fields[0] += spec.WithGroup
		m.Files = append(m.Files, g.fd)
	}
	return m
}

// of returns the holder of a plan with its user count increased. If the server is killed, a new
// holder removes shown.
func (h *Holders) of(ctx context.Context, plan *confine.Plan, shown string) (*holder, error) {
	key := keyOf(plan)
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, errClosed
	}
	i := slices.IndexFunc(h.all, func(o *holder) bool { return o.key == key && !o.stale && !o.isOver() })
	var found *holder
	if i >= 0 {
		found = h.all[i]
		h.all = append(slices.Delete(h.all, i, i+1), found)
	} else {
		found = newHolder(h, key)
		h.all = append(h.all, found)
		go found.run(plan, shown) // ends with the holder
	}
	found.users++
	found.idle.Stop()
	h.mu.Unlock()
	select {
	case <-found.up:
	case <-ctx.Done():
		h.done(found, false)
		return nil, ctx.Err()
	}
	if found.failed != nil {
		h.done(found, true)
		return nil, found.failed
	}
	return found, nil
}

// done gives a holder back. Holders without a command end, except for the most recently used.
func (h *Holders) done(o *holder, stale bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.stale = o.stale || stale
	if o.users--; o.users > 0 {
		return
	}
	o.idle.Reset(idleLimit)
	h.trim()
}

// trim ends all but the kept holders. Its caller holds mu.
func (h *Holders) trim() {
	kept := 0
	for i := len(h.all) - 1; i >= 0; i-- {
		o := h.all[i]
		if o.users > 0 {
			continue
		}
		if kept == mostIdle || o.stale || o.isOver() {
			h.drop(i)
			continue
		}
		kept++
	}
}

// drop ends a holder. Its caller holds mu.
func (h *Holders) drop(i int) {
	o := h.all[i]
	h.all = slices.Delete(h.all, i, i+1)
	o.idle.Stop()
	o.end()
}

// expire ends an idle holder.
func (h *Holders) expire(o *holder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.all, o); i >= 0 && o.users == 0 {
		h.drop(i)
	}
}

// Close ends all holders, including their running commands. It returns when no command is left. It
// does not wait for holders without a command: the kernel takes some ten milliseconds to remove
// their namespaces.
func (h *Holders) Close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.closed = true
	var used []*holder
	for len(h.all) > 0 {
		last := len(h.all) - 1
		if o := h.all[last]; o.users > 0 {
			used = append(used, o)
		}
		h.drop(last)
	}
	h.mu.Unlock()
	for _, o := range used {
		<-o.over
	}
}

// Protect makes paths read-only, and others impossible to rename or remove, for all running
// commands in holders. A command's open files stay open.
func (h *Holders) Protect(ctx context.Context, readOnly, pinned []string) error {
	h.mu.Lock()
	var used []*holder
	for _, o := range h.all {
		if o.users > 0 {
			o.users++
			used = append(used, o)
		}
	}
	h.mu.Unlock()
	var errs []error
	for _, o := range used {
		changed, err := o.protect(ctx, readOnly, pinned)
		errs = append(errs, err)
		h.done(o, changed) // it no longer protects the paths of its plan
	}
	return errors.Join(errs...)
}

// keyOf is a plan, and which files and folders the paths in it are now: a mount is of a
// file or folder and not of its name.
func keyOf(plan *confine.Plan) string {
	var key strings.Builder
	for _, field := range plan.Fields() {
		key.WriteString(field)
		key.WriteByte(0)
		if strings.HasPrefix(field, "/") {
			var st unix.Stat_t
			if unix.Lstat(field, &st) == nil {
				key.WriteString(strconv.FormatUint(st.Dev, 36) + ":" + strconv.FormatUint(st.Ino, 36))
			}
			key.WriteByte(0)
		}
	}
	return key.String()
}

// holder is the server's side of a holder process.
type holder struct {
	owner *Holders
	key   string
	users int  // commands; guarded by owner.mu
	stale bool // takes no new commands; guarded by owner.mu
	idle  *time.Timer

	up     chan struct{} // closed when it is ready, or failed is set
	failed error
	over   chan struct{} // closed when nothing of it is left

	ctx     context.Context // ends with the holder
	cancel  context.CancelFunc
	process *Process
	socket  *os.File
	fd      int // of socket

	mu      sync.Mutex
	ended   bool
	ids     int
	waiting map[Limits][]*worker // for a command
	workers map[int]*worker
	answers map[int]chan error // to other requests
}

func newHolder(owner *Holders, key string) *holder {
	o := &holder{
		owner: owner, key: key, up: make(chan struct{}), over: make(chan struct{}),
		waiting: map[Limits][]*worker{}, workers: map[int]*worker{}, answers: map[int]chan error{},
	}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	o.idle = time.AfterFunc(idleLimit, func() { owner.expire(o) })
	return o
}

func (o *holder) isOver() bool {
	select {
	case <-o.over:
		return true
	default:
		return false
	}
}

// run makes the holder and serves it until nothing of it is left.
func (o *holder) run(plan *confine.Plan, shown string) {
	defer close(o.over)
	defer o.cancel()
	o.failed = o.start(plan, shown)
	close(o.up)
	if o.failed != nil {
		return
	}
	o.receive()
	o.end()
	o.process.Wait() // if it was killed, all its processes ended with it
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	for _, w := range o.workers {
		w.left()
	}
	for _, answer := range o.answers {
		answer <- errStale
	}
	o.workers, o.waiting, o.answers = nil, nil, nil
	o.socket.Close() // nothing is buffered
}

// start starts the holder's process, with its end of the socket as stdin.
func (o *holder) start(plan *confine.Plan, shown string) (err error) {
	ours, theirs, err := spec.SocketPair()
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(ours, true); err != nil {
		return errors.Join(err, unix.Close(ours), unix.Close(theirs))
	}
	o.socket, o.fd = os.NewFile(uintptr(ours), "holder"), ours
	stdin := os.NewFile(uintptr(theirs), "holder's")
	defer func() {
		if err != nil {
			o.socket.Close() // not used
		}
	}()
	defer stdin.Close() // the holder's, and closed by then
	encoded, err := spec.Spec{Path: "/", Dir: "/", Args: []string{"holder"}, Scratch: shown, Plan: plan, Hold: true}.Encode()
	if err != nil {
		return err
	}
	p := &Process{done: make(chan struct{})}
	if err := p.hold(o.ctx, stdin, encoded); err != nil {
		return err
	}
	o.process = p
	go p.run(o.ctx, 0)
	return nil
}

// hold starts a holder.
func (p *Process) hold(ctx context.Context, stdin *os.File, encoded []byte) error {
	pipes := &pipes{childEnds: []*os.File{stdin}}
	err := errors.Join(pipes.addNull(os.O_WRONLY), pipes.addNull(os.O_WRONLY), pipes.addControl())
	if err == nil {
		err = p.supervise(pipes.childEnds)
	}
	pipes.closeChildEnds()
	if err != nil {
		pipes.closeParentEnds()
		return fmt.Errorf("starting the holder of a sandbox: %w", err)
	}
	return p.begin(ctx, Cmd{Args: []string{"the holder of a sandbox"}}, pipes, encoded)
}

// end begins to end the holder and all its processes.
func (o *holder) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.cancel()
}

// receive takes the holder's messages until it ends.
func (o *holder) receive() {
	raw, err := o.socket.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, spec.LongestMessage)
	for {
		var m spec.Message
		var err error
		if waited := raw.Read(func(fd uintptr) bool {
			m, err = spec.Receive(int(fd), buf)
			return err != unix.EAGAIN
		}); waited != nil || err != nil {
			return
		}
		o.take(m)
	}
}

func (o *holder) take(m spec.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := m.Number()
	switch w := o.workers[id]; {
	case m.Kind == spec.StartWorker && w != nil && len(m.Files) == 1:
		if w.is(m.Files[0]) {
			m.Files = nil
		}
		o.answer(id, nil)
	case m.Kind == spec.WorkerFailed && w != nil:
		delete(o.workers, id)
		w.left()
		o.answer(id, fmt.Errorf("%w: %s", errStale, m.Text()))
	case m.Kind == spec.WorkerGone && w != nil:
		delete(o.workers, id)
		w.left()
	case m.Kind == spec.Protected && m.Text() == "":
		o.answer(id, nil)
	case m.Kind == spec.Protected && m.Text() == spec.UnchangedText:
		o.answer(id, errUnchanged)
	case m.Kind == spec.Protected:
		o.answer(id, errors.New(m.Text()))
	}
	m.Close()
}

// answer passes an answer on. Its caller holds mu.
func (o *holder) answer(id int, err error) {
	if asked := o.answers[id]; asked != nil {
		asked <- err
		delete(o.answers, id)
	}
}

// answerLimit is the timeout for a holder's answer. It answers within milliseconds, or never if a
// command has hindered it.
const answerLimit = 30 * time.Second

// ask sends a message whose first field is id and waits for the answer. If the holder has
// ended, or does not answer, it returns errStale.
func (o *holder) ask(ctx context.Context, id int, m spec.Message) error {
	answer := make(chan error, 1)
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return errStale
	}
	o.answers[id] = answer
	o.mu.Unlock()
	if err := spec.Send(o.fd, m); err != nil {
		return errStale
	}
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		o.end()
		return errStale
	}
}

// next returns the number of the next request.
func (o *holder) next() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids++
	return o.ids
}

// protect protects the unprotected paths. changed reports whether there are any.
func (o *holder) protect(ctx context.Context, readOnly, pinned []string) (changed bool, err error) {
	select {
	case <-o.up:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if o.failed != nil || o.isOver() {
		return false, nil
	}
	ask := func(readOnly, pinned []string) {
		e := o.mount(ctx, readOnly, pinned)
		if errors.Is(e, errUnchanged) {
			return
		}
		changed, err = true, errors.Join(err, e)
	}
	for _, some := range portions(pinned) { // folders before their entries
		ask(nil, some)
	}
	for _, some := range portions(readOnly) {
		ask(some, nil)
	}
	return changed, err
}

func (o *holder) mount(ctx context.Context, readOnly, pinned []string) error {
	id := o.next()
	fields := append([]string{strconv.Itoa(id), strconv.Itoa(len(readOnly))}, readOnly...)
	return o.ask(ctx, id, spec.Message{Kind: spec.Protect, Fields: append(fields, pinned...)})
}

// portions splits paths into message-sized parts.
func portions(paths []string) (all [][]string) {
	size := 0
	for i, path := range paths {
		if size += len(path) + 1; i == 0 || size > spec.LongestMessage/2 {
			all, size = append(all, nil), len(path)+1
		}
		all[len(all)-1] = append(all[len(all)-1], path)
	}
	return all
}

// worker returns a waiting worker, otherwise a new one.
func (o *holder) worker(ctx context.Context, l Limits) (*worker, error) {
	o.mu.Lock()
	if o.ended {
		o.mu.Unlock()
		return nil, errStale
	}
	if n := len(o.waiting[l]); n > 0 {
		w := o.waiting[l][n-1]
		o.waiting[l] = o.waiting[l][:n-1]
		o.mu.Unlock()
		return w, nil
	}
	o.ids++
	w := &worker{holder: o, id: o.ids, limits: l, pidfd: -1, gone: make(chan struct{})}
	ours, theirs, err := spec.SocketPair()
	if err != nil {
		o.mu.Unlock()
		return nil, err
	}
	w.socket = ours
	o.workers[w.id] = w
	o.mu.Unlock()
	err = o.ask(ctx, w.id, spec.Message{Kind: spec.StartWorker, Fields: []string{strconv.Itoa(w.id)}, Files: []int{theirs}})
	unix.Close(theirs) // the worker's
	if err != nil {
		w.release(false)
		return nil, err
	}
	return w, nil
}

// worker is the server's side of a process that runs commands, one after the other.
type worker struct {
	holder *holder
	id     int
	limits Limits
	socket int
	pidfd  int

	gone   chan struct{} // closed when it and all its descendants have ended
	once   sync.Once
	fdsMu  sync.Mutex
	closed bool
}

// left records the worker's end.
func (w *worker) left() { w.once.Do(func() { close(w.gone) }) }

// is records the worker's process. If the worker was given up, it returns false.
func (w *worker) is(pidfd int) bool {
	w.fdsMu.Lock()
	defer w.fdsMu.Unlock()
	if !w.closed {
		w.pidfd = pidfd
	}
	return !w.closed
}

func (w *worker) signal(s unix.Signal) {
	w.fdsMu.Lock()
	defer w.fdsMu.Unlock()
	if !w.closed && w.pidfd >= 0 {
		unix.PidfdSendSignal(w.pidfd, s, nil, 0) // it may be gone
	}
}

func (w *worker) wake() { w.signal(unix.SIGCONT) }

// kill kills the worker. Its holder kills the remaining processes.
func (w *worker) kill() { w.signal(unix.SIGKILL) }

// outdated prevents the start of further commands in the holder.
func (w *worker) outdated() {
	h := w.holder.owner
	h.mu.Lock()
	defer h.mu.Unlock()
	w.holder.stale = true
}

func (w *worker) root() int { return w.holder.process.owner.root() }

// wait gives the worker back. Unless settled is set, wait waits for the end of the worker and its
// descendants.
func (w *worker) wait(settled bool) error {
	defer w.holder.owner.done(w.holder, false)
	w.release(settled)
	if settled {
		return nil
	}
	select {
	case <-w.gone:
	case <-time.After(2*spec.LastTries + supervisorTries):
		w.holder.end()
		<-w.holder.over
	}
	return nil
}

// sweep does nothing: the holder has done it.
func (w *worker) sweep(int) {}

// mostWaiting is how many workers wait for a command.
const mostWaiting = 2

// release lets the worker wait for a command, or end.
func (w *worker) release(again bool) {
	o := w.holder
	o.mu.Lock()
	defer o.mu.Unlock()
	if again && !o.ended && len(o.waiting[w.limits]) < mostWaiting && o.workers[w.id] == w {
		o.waiting[w.limits] = append(o.waiting[w.limits], w)
		return
	}
	w.kill()
	w.fdsMu.Lock()
	defer w.fdsMu.Unlock()
	w.closed = true
	unix.Close(w.socket) // only its end matters
	if w.pidfd >= 0 {
		unix.Close(w.pidfd) // only a handle
	}
}
