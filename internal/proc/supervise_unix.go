//go:build unix

package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The first argument of the binary when it is a supervisor: of a child of ours, or
// of one that another program starts for us (see [Outside]).
const (
	hiddenWord  = "__supervise"
	outsideWord = "__shell"
	insideWord  = "__inside" // a second one, in namespaces that the first one made: see relay
)

// lastTries is how long the supervisor goes on killing what does not die: what
// sits in the kernel dies when it leaves, and nobody has to wait for that.
const lastTries = 5 * time.Second

// Not left to main alone: until main runs, a binary of this size has initialised all
// its packages, which takes a supervisor about 0.6 ms of 1.7, with each command that
// runs. This package depends on little and so comes early.
func init() { Supervise() }

// Supervise is the first line of main and of TestMain: in the supervisor it never
// returns, anywhere else it returns at once.
//
// The supervisor gets the child's stdin, stdout and stderr as its own, the control
// pipe as 3 and the status pipe as 4. It copies no bytes. The end of the control
// pipe means that the server is gone or wants the end: a pipe's end cannot be
// missed, where PR_SET_PDEATHSIG follows the thread that forked, which the Go
// runtime may end at any time.
func Supervise() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == hiddenWord:
		supervise()
	case len(os.Args) == 3 && os.Args[1] == insideWord:
		inside(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == workerWord:
		work(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == outsideWord:
		outside(os.Args[2])
	}
}

func supervise() {
	supervisor{
		control: os.NewFile(3, "control"),
		attr:    childAttr(),
		tell:    teller(os.NewFile(4, "status")),
		// The child may inherit what is ignored, so this comes after the fork. The
		// end comes over the control pipe.
		forked: func(chan<- time.Duration) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			letGo()
		},
	}.run()
	syscall.Exit(0) // not os.Exit, with which the race detector waits for a second
}

// teller writes messages as lines.
func teller(status io.Writer) func(kind string, about ...any) {
	return func(kind string, about ...any) {
		fmt.Fprintln(status, append([]any{kind}, about...)...)
	}
}

// supervisor starts a child and owns everything below it.
type supervisor struct {
	control *os.File
	attr    *syscall.SysProcAttr
	// tell takes "P pid" when the child runs, "E errno" when it does not start,
	// "S text" when what should bound it could not be set up, "X code signal" when
	// it has ended, "K n" when everything is ended because of limit n, "L n" when n
	// could not be ended.
	tell   func(kind string, about ...any)
	forked func(stops chan<- time.Duration) // called once the child runs
	how    string                           // letters for the second supervisor, if there is one
	within bool                             // this is the second one: see relay
}

// run returns when nothing is left, or nothing more can be done.
func (s supervisor) run() {
	// Capabilities and the parent-death signal belong to a thread: the one that is
	// changed has to be the one that forks.
	runtime.LockOSThread()
	hide()
	what, err := readSpec(s.control)
	if err != nil {
		return // the server died before it said anything
	}
	var orphaned atomic.Bool
	defer func() {
		if what.scratch != "" && orphaned.Load() {
			os.RemoveAll(what.scratch) //nolint:errcheck // a temp folder, and nobody to tell
		}
	}()
	keepFromChildren(s.within || what.trusted)
	stops := make(chan time.Duration)
	if (what.plan.Apart() || what.plan.Landlock) && !s.within {
		r, err := s.relay(what)
		if err != nil {
			s.tell("S", err)
			return
		}
		s.forked(stops)
		go watch(s.control, stops, &orphaned, nil)
		r.follow(s, stops)
		return
	}
	if what.hold {
		s.hold(what)
		return
	}
	if what.plan.Apply() {
		if err := what.plan.Enter(); err != nil {
			s.tell("S", err)
			return
		}
	}
	where := hosts
	if s.within && what.plan.Namespaces {
		where = nobodys
	}
	pid, err := what.start(s.attr, []uintptr{0, 1, 2}, where)
	if err != nil {
		s.tell("E", errnoOf(err))
		return
	}
	s.tell("P", pid)
	s.forked(stops)
	go watch(s.control, stops, &orphaned, nil)
	t := newTree(pid)
	s.follow(t, stops, what.limits.watch(t))
}

func errnoOf(err error) int {
	var errno syscall.Errno
	errors.As(err, &errno)
	return int(errno)
}

// start starts the program with its limits and descriptors.
func (s spec) start(attr *syscall.SysProcAttr, files []uintptr, where neighbors) (pid int, err error) {
	defer s.limits.lower(where)(&pid)
	if s.pty {
		own := *attr
		own.Setctty, own.Ctty = true, 0
		attr = &own
	}
	return syscall.ForkExec(s.path, s.args, &syscall.ProcAttr{
		Dir: s.dir, Env: s.env, Files: files, Sys: attr,
	})
}

func (s supervisor) follow(t *tree, stops <-chan time.Duration, over <-chan int) {
	exited := t.exited
	for {
		select {
		case <-exited:
			s.report(t)
			exited = nil
		case limit := <-over:
			s.tell("K", limit)
			if left := t.end(0, stops); left > 0 {
				s.tell("L", left)
			}
			s.report(t)
			return
		case grace := <-stops:
			left := t.end(grace, stops)
			s.report(t)
			if left > 0 {
				s.tell("L", left)
			}
			return
		case <-t.gone:
			s.report(t)
			return
		}
	}
}

// report says once how the child ended, if it has.
func (s supervisor) report(t *tree) {
	select {
	case ws := <-t.how:
		if ws.Signaled() {
			s.tell("X", 0, int(ws.Signal()))
		} else {
			s.tell("X", ws.ExitStatus(), 0)
		}
	default:
	}
}

// watch passes stops on, up to a goodbye, the end of the pipe, or that of over.
func watch(control *os.File, stops chan<- time.Duration, orphaned *atomic.Bool, over <-chan struct{}) {
	for {
		grace, err := readStop(control)
		last := err != nil || grace == goodbye
		if last {
			orphaned.Store(err != nil)
			grace = defaultGrace
		}
		select {
		case stops <- grace:
		case <-over:
			return
		}
		if last {
			return
		}
	}
}

// letGo gives up the child's pipes, so that their end is the child's doing.
func letGo() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || replace(null, fd) != nil {
			unix.Close(fd) //nolint:errcheck // it is open
		}
	}
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}
