package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"
	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// namespace is the holder's own side: the init process of a PID namespace, in which workers start
// commands. It starts workers on the server's request, and kills the processes left by a killed
// worker. If the server ends, the holder ends, and with it the namespace.
type namespace struct {
	socket int
	how    string // for workers
	mounts chan func()
	keeper *keeper

	inherited inherited

	mu      sync.Mutex
	workers map[int]string // ids by process
	some    *sync.Cond     // a worker was started
}

// Letters for how a worker was started.
const (
	scopedWorker = "s" // it keeps others from its memory
	apartWorker  = "a" // it is in our user namespace
)

// holdGrace is the time for workers to end, in addition to the grace period of their commands.
const holdGrace = 300 * time.Millisecond

// hold is the supervisor's run when it holds a sandbox. It never returns.
func (s supervisor) hold(what spec.Spec) {
	n := &namespace{workers: map[int]string{}, mounts: make(chan func()), inherited: whatChildrenInherit()}
	n.some = sync.NewCond(&n.mu)
	ignoreSignals()
	ready := make(chan struct{})
	go func() { // the only thread to keep the mount capabilities
		runtime.LockOSThread()
		close(ready)
		for mount := range n.mounts {
			mount()
		}
	}()
	<-ready
	plan := *what.Plan
	if plan.Scoped { // each worker has a separate scope, so none reaches another's memory
		n.how, plan.Scoped = scopedWorker, false
	}
	if plan.Namespaces {
		n.how += apartWorker
	}
	err := plan.Enter()
	if err == nil && plan.Namespaces {
		n.keeper = newKeeper(&plan)
	}
	if err == nil {
		n.socket, err = unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	}
	if err != nil {
		s.tell("S", err)
		return
	}
	dropStdio()
	s.tell("P", os.Getpid())
	stops := make(chan time.Duration)
	var orphaned atomic.Bool
	go watch(s.control, stops, &orphaned, nil)
	go n.reap()
	go n.end(s, stops)
	if n.keeper != nil {
		go n.keeper.watch(n.mounts)
	}
	n.serve()
	select {} // the end of the control pipe ends us, once workers have ended their commands
}

// Signals whose action the Go runtime leaves to the C libraries: it sets no handler for them.
const (
	signal32 = unix.Signal(32)
	signal34 = unix.Signal(34)
)

// ignoreSignals ignores all signals. The Go runtime exits on many signals it catches. The default
// action is not enough, although the kernel spares the init process of a namespace: if a thread
// blocks a signal, such as during a fork, the signal ends the process through another thread.
func ignoreSignals() {
	signal.Reset()
	for s := unix.SIGHUP; s <= unix.SIGSYS; s++ {
		switch s {
		case unix.SIGKILL, unix.SIGSTOP: // not ours to set
		case unix.SIGCHLD, unix.SIGURG: // the runtime's: it only wakes
		case unix.SIGCONT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU: // they do not end anything
		default:
			setAction(s, actIgnore)
		}
	}
	setAction(signal32, actIgnore)
	setAction(signal34, actIgnore)
}

// end ends everything, after a grace period for running commands.
func (n *namespace) end(s supervisor, stops <-chan time.Duration) {
	grace := <-stops
	if grace > 0 {
		for deadline := time.Now().Add(grace + holdGrace); n.works() && time.Now().Before(deadline); {
			select {
			case <-time.After(time.Millisecond):
			case grace := <-stops:
				deadline = time.Now().Add(grace)
			}
		}
	}
	s.tell("X", 0, 0)
	syscall.Exit(0)
}

func (n *namespace) works() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.workers) > 0
}

// serve handles the server's messages until the server ends. Its thread has entered the plan, so
// the processes started by it are bound. If a message cannot be received, such as with no
// descriptor left, the holder ends, and the server makes a new holder.
func (n *namespace) serve() {
	buf := make([]byte, spec.LongestMessage)
	for {
		m, err := spec.Receive(n.socket, buf)
		switch {
		case errors.Is(err, syscall.ECONNRESET):
			return // the server has ended; see end
		case err != nil:
			syscall.Exit(1)
		case m.Kind == spec.StartWorker && len(m.Files) == 1:
			n.start(m)
		case m.Kind == spec.Protect && len(m.Fields) > 1:
			n.protect(m)
		}
		m.Close()
	}
}

// start starts a worker. If a command has changed an inheritable limit or priority, start starts
// none, and the server makes a new holder.
func (n *namespace) start(m spec.Message) {
	if !n.inherited.unchanged() {
		n.send(spec.Message{Kind: spec.WorkerFailed, Fields: []string{m.Fields[0], "a command has changed the limits of its holder"}})
		return
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		n.send(spec.Message{Kind: spec.WorkerFailed, Fields: []string{m.Fields[0], err.Error()}})
		return
	}
	defer unix.Close(null) // the worker's
	files := []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(m.Files[0])}
	pidfd := -1
	n.mu.Lock()
	pid, err := syscall.ForkExec(spec.Self(), []string{"hermes-ls", spec.Work, n.how}, &syscall.ProcAttr{
		Dir: "/", Env: spec.Environ(), Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &pidfd},
	})
	if err == nil {
		n.workers[pid] = m.Fields[0]
		n.some.Signal()
	}
	n.mu.Unlock()
	if err != nil {
		n.send(spec.Message{Kind: spec.WorkerFailed, Fields: []string{m.Fields[0], "starting a worker: " + err.Error()}})
		return
	}
	err = n.send(spec.Message{Kind: spec.StartWorker, Fields: m.Fields, Files: []int{pidfd}})
	unix.Close(pidfd) // the server's
	if err != nil {   // too many descriptors are on their way between processes of this user
		unix.Kill(pid, unix.SIGKILL) // it may have ended
		n.send(spec.Message{Kind: spec.WorkerFailed, Fields: []string{m.Fields[0], err.Error()}})
	}
}

// send answers the server. The control pipe shows if the server has ended.
func (n *namespace) send(m spec.Message) error { return spec.Send(n.socket, m) }

// reap collects ended processes, and kills processes left by a worker.
func (n *namespace) reap() {
	for {
		n.mu.Lock()
		for len(n.workers) == 0 {
			n.some.Wait()
		}
		n.mu.Unlock()
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if err != nil {
			continue // a signal
		}
		n.mu.Lock()
		id, ours := n.workers[pid]
		delete(n.workers, pid)
		n.mu.Unlock()
		if ours {
			n.endOrphans()
			n.send(spec.Message{Kind: spec.WorkerGone, Fields: []string{id}})
		}
	}
}

// endOrphans kills all children of the holder except workers, and their descendants. If they fork
// faster than they are killed, the holder ends, and they end with it.
func (n *namespace) endOrphans() {
	for deadline := time.Now().Add(spec.LastTries); ; time.Sleep(time.Millisecond) {
		orphans := n.orphans()
		if len(orphans) == 0 {
			return
		}
		if time.Now().After(deadline) {
			syscall.Exit(1)
		}
		for _, p := range orphans {
			unix.Kill(p.PID, unix.SIGKILL) // it may be gone
		}
	}
}

// orphans lists them.
func (n *namespace) orphans() (found []processes.Process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	children := map[int][]processes.Process{}
	for _, p := range processes.All() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	for _, p := range children[os.Getpid()] {
		if _, ours := n.workers[p.PID]; !ours {
			found = append(found, p)
		}
	}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].PID]...)
	}
	return found
}

// protect adds mounts for the whole namespace.
func (n *namespace) protect(m spec.Message) {
	count, err := strconv.Atoi(m.Fields[1])
	paths := m.Fields[2:]
	changed := false
	if err != nil || count < 0 || count > len(paths) || n.keeper == nil {
		err = spec.ErrMessage
	} else {
		done := make(chan struct{})
		n.mounts <- func() {
			changed, err = n.keeper.protect(paths[:count], paths[count:])
			close(done)
		}
		<-done
	}
	text := ""
	switch {
	case err != nil:
		text = err.Error()
	case !changed:
		text = spec.UnchangedText
	}
	n.send(spec.Message{Kind: spec.Protected, Fields: []string{m.Fields[0], text}})
}

// Numbers of the descriptors in a command's message.
const (
	controlFile = 3
	statusFile  = 4
	furtherFile = 5
)

// standby is the worker's own side.
type standby struct {
	mounts    mountTable
	inherited inherited
	where     neighbors
}

// work is a worker: it runs commands one after the other, each like a supervisor. It never returns.
func work(how string) {
	runtime.LockOSThread()
	hide()
	keepFromChildren(true)
	setAction(signal32, actDefault) // the holder ignores them
	setAction(signal34, actDefault)
	// Caught and not ignored: a child would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	if strings.Contains(how, scopedWorker) && confine.Scope() != nil {
		syscall.Exit(1)
	}
	w := &standby{inherited: whatChildrenInherit(), where: hosts}
	if strings.Contains(how, apartWorker) {
		w.where = commands
	}
	var err error
	if w.mounts, err = mountPlaces(); err != nil {
		syscall.Exit(1)
	}
	buf := make([]byte, spec.LongestMessage)
	for {
		m, err := spec.Receive(3, buf)
		if err != nil || m.Kind != spec.RunCommand || len(m.Files) < furtherFile {
			syscall.Exit(0)
		}
		if !w.command(m) {
			syscall.Exit(0)
		}
	}
}

// command runs a command to its end. If it returns false, the worker must not start another.
func (w *standby) command(m spec.Message) (again bool) {
	status := pipe(m.Files[statusFile])
	defer unix.Close(int(status)) // nothing is buffered
	s := supervisor{tell: reporter(status)}
	stdio := m
	stdio.Files = append(append([]int{}, m.Files[:controlFile]...), m.Files[furtherFile:]...)
	c, err := w.start(s, pipe(m.Files[controlFile]), stdio)
	stdio.Close()
	defer unix.Close(m.Files[controlFile]) // only read
	switch {
	case err != nil:
		return false
	case c.pid == 0:
		again = true
	case c.endsSoon():
		// A single message: the server wakes once.
		settled := ""
		if again = w.inherited.unchanged(); again {
			settled = "Z\n"
		}
		code, signal := exitOf(*c.ended)
		fmt.Fprintf(status, "P %d\nX %d %d\n%s", c.pid, code, signal, settled)
		return again
	default:
		s.tell("P", c.pid)
		again = c.follow(s)
	}
	if again = again && w.inherited.unchanged(); again {
		s.tell("Z")
	}
	return again
}

// started is a command of a worker.
type started struct {
	pid     int // 0: it did not start
	pidfd   int // -1: unknown to the kernel
	control pipe
	brief   bool                // it may end soon
	ended   *syscall.WaitStatus // nil: it runs
	limits  spec.Limits
}

// briefly is how long a worker waits for a command to end. A command ending within it costs no
// goroutines and a single message. Until then, limits apply only to each process.
const briefly = 10 * time.Millisecond

// endsSoon reports whether the command and its descendants ended within a moment, without a message
// from the server.
func (c *started) endsSoon() bool {
	if c.pidfd < 0 {
		return false
	}
	defer unix.Close(c.pidfd) // only a handle
	if !c.brief {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(c.control), Events: unix.POLLIN}, {Fd: int32(c.pidfd), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, int(briefly.Milliseconds())); err != nil || n != 1 || poll[0].Revents != 0 {
		return false
	}
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no child is left
			return true
		case pid == 0: // it has left something
			return false
		case pid == c.pid:
			c.ended = &ws
		}
	}
}

// follow runs a longer command to its end. It reports whether no process of it is left.
func (c *started) follow(s supervisor) bool {
	unix.SetNonblock(int(c.control), true) // closing it then wakes a reader
	fd, err := unix.FcntlInt(uintptr(c.control), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		fd = -1 // nothing can be read, which ends the command
	}
	control := os.NewFile(uintptr(fd), "control")
	stops, over := make(chan time.Duration), make(chan struct{})
	defer control.Close() // only read
	defer close(over)
	var orphaned atomic.Bool
	go watch(control, stops, &orphaned, over)
	t := newTree(c.pid, c.ended)
	s.follow(t, stops, watchLimits(c.limits, t))
	return t.isGone(0)
}

// pipe is an end of a pipe, read without the runtime's poller.
type pipe int

func (p pipe) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(p), b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (p pipe) Write(b []byte) (int, error) {
	for {
		n, err := unix.Write(int(p), b)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// start starts a command's program. If the server is gone, it returns an error.
func (w *standby) start(s supervisor, control pipe, m spec.Message) (*started, error) {
	c := &started{pidfd: -1, control: control}
	what, err := spec.Read(control)
	if err != nil {
		return c, err
	}
	if w.mounts.lost() {
		s.tell("R")
		return c, nil
	}
	files := []uintptr{uintptr(m.Files[0]), uintptr(m.Files[1]), uintptr(m.Files[2])}
	attr, with, further := childAttr(), strings.Join(m.Fields, ""), m.Files[controlFile:]
	if strings.Contains(with, spec.WithLeft) && len(further) > 0 {
		for len(files) < spec.LeftFD {
			files = append(files, ^uintptr(0))
		}
		files, further = append(files, uintptr(further[0])), further[1:]
	}
	if strings.Contains(with, spec.WithGroup) && len(further) > 0 {
		attr.UseCgroupFD, attr.CgroupFD = true, further[0]
	}
	attr.PidFD = &c.pidfd
	pid, err := start(what, attr, files, w.where)
	if err != nil && attr.UseCgroupFD { // it may be made, but not entered
		attr.UseCgroupFD = false
		pid, err = start(what, attr, files, w.where)
	}
	if err != nil {
		c.pidfd = -1
		s.tell("E", errnoOf(err))
		return c, nil
	}
	c.pid, c.limits, c.brief = pid, what.Limits, !strings.Contains(with, spec.WithInput)
	return c, nil
}

// inherited holds the inheritable properties of a process that other processes of the same user can
// change.
type inherited struct {
	limits []unix.Rlimit
	nice   int
	policy uint32      // of the scheduler
	cpus   unix.CPUSet // on which it may run
}

func whatChildrenInherit() inherited {
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		nice = -1
	}
	i := inherited{limits: allLimits(), nice: nice}
	if attr, err := unix.SchedGetAttr(0, 0); err == nil {
		i.policy = attr.Policy
	}
	unix.SchedGetaffinity(0, &i.cpus) // machines of more processors are not looked at
	return i
}

// unchanged reports whether no command has changed it.
func (i inherited) unchanged() bool {
	now := whatChildrenInherit()
	for resource, limit := range now.limits {
		// We set a command's data limit, and the runtime raises the limit of files.
		if resource != unix.RLIMIT_DATA && resource != unix.RLIMIT_NOFILE && limit != i.limits[resource] {
			return false
		}
	}
	return now.nice == i.nice && now.policy == i.policy && now.cpus == i.cpus
}

// allLimits are this process's, by their numbers.
func allLimits() (all []unix.Rlimit) {
	for resource := unix.RLIMIT_CPU; resource <= unix.RLIMIT_RTTIME; resource++ {
		var l unix.Rlimit
		unix.Getrlimit(resource, &l) // all are known
		all = append(all, l)
	}
	return all
}

// mountTable holds the mounts around a worker, by their paths. If a program outside removes a
// protected file or folder, its mount is lost, and a new file of the same name is not protected.
// The kernel does not report it, so each path is checked.
type mountTable map[string]uint64

// mountPlaces lists the mounts outside of /proc, /sys and /dev.
func mountPlaces() (mountTable, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	t := mountTable{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return nil, spec.ErrMessage
		}
		place := unescaped.Replace(fields[4])
		if top, _, _ := strings.Cut(strings.TrimPrefix(place, "/"), "/"); top == "proc" || top == "sys" || top == "dev" {
			continue
		}
		if t[place], err = mountAt(place); err != nil {
			delete(t, place) // it lies in a hidden folder
		}
	}
	return t, nil
}

// unescaped is a path as it is, and not as the kernel writes it.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// mountAt returns the number of a path's mount.
func mountAt(path string) (uint64, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	return st.Mnt_id, err
}

// lost reports whether a mount was removed or covered by another.
func (t mountTable) lost() bool {
	for place, was := range t {
		if now, err := mountAt(place); err != nil || now != was {
			return true
		}
	}
	return false
}
