//go:build unix

// Package supervisor is the code of supervising processes. [Main] turns a process started by
// package proc into a supervisor.
package supervisor

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

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"
)

// Main runs the supervisor if this process was started as a supervisor, and then never returns. In
// any other process it returns at once. It must be the first call of main, and of each TestMain
// with child processes. Without it, [proc.Start] returns an error.
//
// The supervisor gets the child's stdin, stdout and stderr as its own, the control pipe as
// descriptor 3 and the status pipe as 4. It copies no bytes. If the control pipe ends, the server
// has died or wants the end. The end of a pipe cannot be missed. PR_SET_PDEATHSIG follows the
// forking thread, which the Go runtime may end at any time.
func Main() {
	spec.Served.Store(true)
	switch {
	case len(os.Args) == 2 && os.Args[1] == spec.Supervise:
		supervise()
	case len(os.Args) == 3 && os.Args[1] == spec.Inside:
		nsInit(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == spec.Work:
		work(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == spec.HostShell:
		hostShell(os.Args[2])
	}
}

func supervise() {
	supervisor{
		control: os.NewFile(3, "control"),
		attr:    childAttr(),
		tell:    reporter(os.NewFile(4, "status")),
		// After the fork: a child inherits which signals are ignored. The end comes over
		// the control pipe.
		forked: func(chan<- time.Duration) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			dropStdio()
		},
	}.run()
	syscall.Exit(0) // not os.Exit, with which the race detector waits for a second
}

// reporter returns a function for writing messages as lines.
func reporter(status io.Writer) func(kind string, about ...any) {
	return func(kind string, about ...any) {
		fmt.Fprintln(status, append([]any{kind}, about...)...)
	}
}

// supervisor starts a child and owns all its descendants.
type supervisor struct {
	control *os.File
	attr    *syscall.SysProcAttr
	// tell takes "P pid" when the child runs, "E errno" when it does not start,
	// "S text" when its sandbox could not be set up, "X code signal" when
	// it has ended, "K n" when everything is ended because of limit n, "L n" when n
	// could not be ended.
	tell   func(kind string, about ...any)
	forked func(stops chan<- time.Duration) // called once the child runs
	how    string                           // letters for the second supervisor, if any
	within bool                             // this is the second supervisor: see startNSParent
}

// run returns when nothing is left, or nothing more can be done.
func (s supervisor) run() {
	// Capabilities and the parent-death signal belong to a thread: the changed thread must be the
	// forking thread.
	runtime.LockOSThread()
	hide()
	what, err := spec.Read(s.control)
	if err != nil {
		return // the server died before it sent a spec
	}
	var orphaned atomic.Bool
	defer func() {
		if what.Scratch != "" && orphaned.Load() {
			os.RemoveAll(what.Scratch) // a temp folder, and nothing to report to
		}
	}()
	keepFromChildren(s.within || what.Trusted)
	stops := make(chan time.Duration)
	if (what.Plan.Apart() || what.Plan.Landlock) && !s.within {
		r, err := s.startNSParent(what)
		if err != nil {
			s.tell("S", err)
			return
		}
		s.forked(stops)
		go watch(s.control, stops, &orphaned, nil)
		r.follow(s, stops)
		return
	}
	if what.Hold {
		s.hold(what)
		return
	}
	if what.Plan.Apply() {
		if err := what.Plan.Enter(); err != nil {
			s.tell("S", err)
			return
		}
	}
	where := hosts
	if s.within && what.Plan.Namespaces {
		where = nobodys
	}
	pid, err := start(what, s.attr, []uintptr{0, 1, 2}, where)
	if err != nil {
		s.tell("E", errnoOf(err))
		return
	}
	s.tell("P", pid)
	s.forked(stops)
	go watch(s.control, stops, &orphaned, nil)
	t := newTree(pid, nil)
	s.follow(t, stops, watchLimits(what.Limits, t))
}

func errnoOf(err error) int {
	var errno syscall.Errno
	errors.As(err, &errno)
	return int(errno)
}

// start starts the program with its limits and descriptors.
func start(s spec.Spec, attr *syscall.SysProcAttr, files []uintptr, where neighbors) (pid int, err error) {
	defer lower(s.Limits, where)(&pid)
	if s.PTY {
		own := *attr
		own.Setctty, own.Ctty = true, 0
		attr = &own
	}
	return syscall.ForkExec(s.Path, s.Args, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: files, Sys: attr,
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

// report reports once how the child ended, if it has.
func (s supervisor) report(t *tree) {
	select {
	case ws := <-t.how:
		code, signal := exitOf(ws)
		s.tell("X", code, signal)
	default:
	}
}

// exitOf returns the exit code of a child, or its fatal signal.
func exitOf(ws syscall.WaitStatus) (code, signal int) {
	if ws.Signaled() {
		return 0, int(ws.Signal())
	}
	return ws.ExitStatus(), 0
}

// watch passes stops on until a detach message, the end of the pipe, or the end of over.
func watch(control *os.File, stops chan<- time.Duration, orphaned *atomic.Bool, over <-chan struct{}) {
	for {
		grace, err := spec.ReadStop(control)
		last := err != nil || grace == spec.DetachMessage
		if last {
			orphaned.Store(err != nil)
			grace = spec.DefaultGrace
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

// dropStdio closes the supervisor's copies of the child's pipes, so only the child holds them open.
func dropStdio() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil || replace(null, fd) != nil {
			unix.Close(fd) // it is open
		}
	}
}
