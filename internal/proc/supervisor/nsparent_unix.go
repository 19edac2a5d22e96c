//go:build unix

package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"
)

// nsParent is a supervisor whose child is a second supervisor, in separate namespaces. Only a
// process started in them can be the init process of a PID namespace. Only a single-threaded
// process can make a user namespace for itself, and a Go program never is. The first supervisor
// passes messages on, and kills the second if it does not end in time. When its init process ends,
// a PID namespace ends as a whole. With Landlock alone, a program can signal the second supervisor,
// but not the first, which ends the remaining processes.
type nsParent struct {
	pid     int
	control *os.File      // stops for the second
	status  *os.File      // its messages
	errors  *os.File      // error output of the program of Plan.Prefix; nil: there is none
	told    chan struct{} // closed when the spec has been written to control
	heard   atomic.Bool   // it has reported whether the child runs
}

// Descriptors of the second supervisor behind another program (Plan.Prefix). The other program
// stays alive and would hold the child's pipes open, but closes descriptors above 2 after it has
// started us.
const (
	binaryFD = 5
	stdioFD  = 6 // and the two above
)

// Letters for how the second supervisor was started.
const (
	ofGuest       = "g" // its child belongs to another program's terminal: see Outside
	behindProgram = "b" // started by the program of Plan.Prefix
)

// startNSParent starts the second supervisor and sends it the spec.
func (s supervisor) startNSParent(what spec.Spec) (*nsParent, error) {
	what.Scratch = "" // removed by this supervisor
	encoded, err := what.Encode()
	if err != nil {
		return nil, err
	}
	theirControl, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirControl.Close() // the second one's
	status, theirStatus, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirStatus.Close() // the second one's
	r := &nsParent{control: control, status: status, told: make(chan struct{})}
	files := []uintptr{0, 1, 2, theirControl.Fd(), theirStatus.Fd()}
	path, args := spec.Self(), []string{"hermes-ls", spec.Inside, s.how}
	if prefix := what.Plan.Prefix; len(prefix) > 0 {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		defer null.Close() // the other program's
		binary, err := os.Open(spec.Self())
		if err != nil {
			return nil, err
		}
		defer binary.Close() // the second one's
		errors, theirErrors, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer theirErrors.Close() // the other program's
		r.errors = errors
		files = []uintptr{null.Fd(), null.Fd(), theirErrors.Fd(), files[3], files[4], binary.Fd(), 0, 1, 2}
		path, args = prefix[0], append(prefix[:len(prefix):len(prefix)], "/proc/self/fd/"+strconv.Itoa(binaryFD), spec.Inside, s.how+behindProgram)
	}
	attr := *s.attr
	if what.Plan.Namespaces {
		what.Plan.Attr(&attr)
	}
	// For a moment, the second supervisor inherits whether it can be read. If it cannot, an
	// ordinary user's process may not map its users, which is done from here.
	show()
	r.pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{
		Dir: "/", Env: spec.Environ(), Files: files, Sys: &attr,
	})
	hide()
	if err != nil {
		return nil, fmt.Errorf("starting a supervisor in namespaces of its own: %w", err)
	}
	go func() { // more than a pipe holds waits
		defer close(r.told)
		r.control.Write(encoded) // a missing second supervisor is detected below
	}()
	return r, nil
}

// stop asks the second supervisor to end everything. If it has not reported the child's start yet,
// stop kills it at once: it may still wait for the spec, and would read the stop as the spec.
func (r *nsParent) stop(grace time.Duration) {
	if !r.heard.Load() {
		unix.Kill(r.pid, unix.SIGKILL) // it may be gone
		return
	}
	<-r.told
	spec.WriteStop(r.control, grace) // gone already is as good
}

// follow passes messages on until nothing is left.
func (r *nsParent) follow(s supervisor, stops <-chan time.Duration) {
	t := newTree(r.pid, nil)
	said := make(chan struct{})
	go func() { defer close(said); r.pass(s) }()
	var late, again <-chan time.Time
	for {
		select {
		case grace := <-stops:
			r.stop(grace)
			late, again = time.After(grace+spec.LastTries), time.After(0)
		case <-again: // without a process namespace, a descendant may have stopped it
			unix.Kill(r.pid, unix.SIGCONT) // it may be gone
			again = time.After(spec.WakeEvery)
		case <-late:
			unix.Kill(r.pid, unix.SIGKILL) // it may be gone
			late = nil
		case <-t.exited: // where there is no process namespace, it may have left something
			if left := t.end(0, nil); left > 0 {
				s.tell("L", left)
			}
			<-said
			if !r.heard.Load() {
				s.tell("S", r.complaint())
			}
			return
		}
	}
}

// pass passes the second supervisor's messages on, with the supervisor's process id here: it is the
// only id for ending all its descendants.
func (r *nsParent) pass(s supervisor) {
	lines := bufio.NewReader(r.status)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		r.heard.Store(true)
		switch kind, numbers, text := spec.ParseLine(line); {
		case kind == "P":
			s.tell("P", r.pid)
		case kind == "S":
			s.tell("S", errors.New(text))
		case kind == "X" && len(numbers) == 2:
			s.tell("X", numbers[0], numbers[1])
		case len(numbers) == 1:
			s.tell(kind, numbers[0])
		}
	}
}

// complaint returns the error if the second supervisor sent no message.
func (r *nsParent) complaint() error {
	if r.errors != nil {
		text := make([]byte, 500)
		if n, _ := r.errors.Read(text); n > 0 {
			return errors.New(strings.Join(strings.Fields(string(text[:n])), " "))
		}
	}
	return errors.New("the supervisor in namespaces of its own ended at once")
}

// takeStdio gives us the child's descriptors, which have come under other numbers.
func takeStdio() {
	for fd := range 3 {
		replace(stdioFD+fd, fd)  // on an error, the child reports the missing descriptor
		unix.Close(stdioFD + fd) // as above
	}
	unix.Close(binaryFD) // not needed any more
}

// nsInit is the second supervisor.
func nsInit(how string) {
	attr := childAttr()
	if strings.Contains(how, ofGuest) {
		attr = guestAttr()
	}
	if strings.Contains(how, behindProgram) {
		takeStdio()
	}
	supervisor{
		control: os.NewFile(3, "control"),
		attr:    attr,
		tell:    reporter(os.NewFile(4, "status")),
		within:  true,
		forked: func(chan<- time.Duration) {
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
			dropStdio()
		},
	}.run()
	syscall.Exit(0)
}
