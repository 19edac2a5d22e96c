//go:build unix

package proc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hiddenWord is the first argument of the binary when it is a supervisor.
const hiddenWord = "__supervise"

// lastTries is how long the supervisor goes on killing what does not die: what
// sits in the kernel dies when it leaves, and nobody has to wait for that.
const lastTries = 5 * time.Second

// Supervise is the first line of main and of TestMain: in the supervisor it never
// returns, anywhere else it returns at once.
//
// The supervisor gets the child's stdin, stdout and stderr as its own, the control
// pipe as 3 and the status pipe as 4. It copies no bytes. The end of the control
// pipe means that the server is gone or wants the end: a pipe's end cannot be
// missed, where PR_SET_PDEATHSIG follows the thread that forked, which the Go
// runtime may end at any time.
func Supervise() {
	if len(os.Args) == 2 && os.Args[1] == hiddenWord {
		// Capabilities and the parent-death signal belong to a thread: the one that
		// is changed has to be the one that forks.
		runtime.LockOSThread()
		supervise(os.NewFile(3, "control"), os.NewFile(4, "status"))
		syscall.Exit(0) // not os.Exit, with which the race detector waits for a second
	}
}

func supervise(control, status *os.File) {
	s, err := readSpec(control)
	if err != nil {
		return // the server died before it said anything
	}
	keepFromChildren()
	pid, err := syscall.ForkExec(s.path, s.args, &syscall.ProcAttr{
		Dir:   s.dir,
		Env:   s.env,
		Files: []uintptr{0, 1, 2},
		Sys:   childAttr(),
	})
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		fmt.Fprintf(status, "E %d\n", int(errno))
		return
	}
	// Only now, or the child would inherit it. The end comes over the control pipe.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	fmt.Fprintf(status, "P %d\n", pid)
	letGo()

	t := newTree(pid)
	stops := make(chan time.Duration)
	go watch(control, stops)
	exited := t.exited
	for {
		select {
		case <-exited:
			report(status, t)
			exited = nil
		case grace := <-stops:
			left := t.end(grace, stops)
			report(status, t)
			if left > 0 {
				fmt.Fprintf(status, "L %d\n", left)
			}
			return
		case <-t.gone:
			report(status, t)
			return
		}
	}
}

// watch passes stops on, and ends with the one that the end of the pipe is.
func watch(control *os.File, stops chan<- time.Duration) {
	for {
		grace, err := readStop(control)
		if err != nil {
			stops <- defaultGrace
			return
		}
		stops <- grace
	}
}

// report says once how the child ended, if it has.
func report(status *os.File, t *tree) {
	select {
	case ws := <-t.how:
		if ws.Signaled() {
			fmt.Fprintf(status, "X 0 %d\n", ws.Signal())
		} else {
			fmt.Fprintf(status, "X %d 0\n", ws.ExitStatus())
		}
	default:
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
