//go:build unix

package proc

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/scratch"
)

// Guest is a child that another program starts, such as an editor in a terminal
// that it shows, and that is ours all the same: with the environment and folder
// of its [Cmd], ended with everything below it by Stop, Close, or our death.
type Guest struct {
	Args    []string // what the other program has to run: this binary, under its own path
	dir     *scratch.Dir
	control *os.File
	told    chan struct{} // closed when what to start has been written
}

// Outside prepares a child for another program to start. Its stdin, stdout and
// stderr are what that program gives it; its exit code is the child's, or
// 128+signal, 127 when the program is not there, 126 when it may not run. The
// writers and the reader of c are not used. Close has to be called in the end.
//
// What is started comes over a pipe in dir. No command may read or write there: it would
// start a program of its own without a sandbox. If c itself may write dir, Outside returns an
// error. If dir is empty, the pipe lies in the folder for temporary files.
func Outside(c Cmd, dir string) (*Guest, error) {
	c.Together = false // the editor's terminal is not ours to give away
	if dir == "" {
		dir = os.TempDir()
	}
	if plan := c.Confine; plan != nil && plan.Landlock && slices.ContainsFunc(plan.Writes, func(w string) bool { return isIn(dir, w) }) {
		return nil, fmt.Errorf("commands can write %s, where an editor's terminal would get its command from", dir)
	}
	encoded, err := c.spec()
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding our own binary: %w", err)
	}
	g := &Guest{told: make(chan struct{})}
	if g.dir, err = scratch.MakeIn(dir, "guest"); err != nil {
		return nil, fmt.Errorf("making a folder for the control pipe: %w", err)
	}
	path := g.dir.Path("control")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		g.dir.Remove()
		return nil, fmt.Errorf("making the control pipe: %w", err)
	}
	// Read and write, so that opening it does not wait for the other side.
	if g.control, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		g.dir.Remove()
		return nil, fmt.Errorf("opening the control pipe: %w", err)
	}
	g.Args = []string{binary, outsideWord, path}
	go func() { // more than a pipe holds waits for its reader, or for Close
		defer close(g.told)
		g.control.Write(encoded) //nolint:errcheck // closed before anyone came
	}()
	return g, nil
}

// isIn reports whether a path lies in a folder, or is it.
func isIn(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Stop begins to end everything below, as [Process.Stop] does.
func (g *Guest) Stop(grace time.Duration) {
	select {
	case <-g.told:
		writeStop(g.control, grace) //nolint:errcheck // gone already is as good
	default:
		g.control.Close() //nolint:errcheck // not started yet: it never will be
	}
}

// Close ends what still runs, without waiting for it.
func (g *Guest) Close() {
	g.control.Close() //nolint:errcheck // the end of the pipe is all that counts
	g.dir.Remove()
	<-g.told
}

// outside is the supervisor in another program's hands. It never returns.
func outside(path string) {
	// Without waiting for a writer: none means that the server is gone.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil || !isPipe(fd) {
		fmt.Fprintln(os.Stderr, "hermes-ls: this command was started too late: its session is gone")
		syscall.Exit(1)
	}
	unix.SetNonblock(fd, false) //nolint:errcheck // a descriptor that we opened
	code := 1
	// Before the child: it may be quick, and its terminal closed at once. What is
	// caught, and not ignored, is no matter of the child's.
	over := make(chan struct{}) // closed when the child has ended: then so does what it left
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGHUP)
	supervisor{
		control: os.NewFile(uintptr(fd), path),
		attr:    guestAttr(),
		how:     ofGuest,
		tell: func(kind string, about ...any) {
			switch kind {
			case "X":
				code = exitOf(about[0].(int), about[1].(int)).Code
				close(over)
			case "E":
				code = refusedCode(syscall.Errno(about[0].(int)))
				fmt.Fprintln(os.Stderr, "hermes-ls: the command did not start:", syscall.Errno(about[0].(int)))
			case "S":
				code = refusedCode(0)
				fmt.Fprintln(os.Stderr, "hermes-ls: the command did not start, because its sandbox could not be made:", about[0])
			case "K":
				fmt.Fprintln(os.Stderr, "hermes-ls: everything was ended, because it went over its limit of", limitNames[about[0].(int)])
			}
		},
		forked: func(stops chan<- time.Duration) {
			signal.Ignore(syscall.SIGINT, syscall.SIGQUIT) // the terminal sends it to the child too
			go func() {
				for over := over; ; {
					select {
					case <-ends:
					case <-over:
						over = nil
					}
					stops <- defaultGrace
				}
			}()
		},
	}.run()
	os.RemoveAll(filepath.Dir(path)) //nolint:errcheck // its maker does too, if it lives
	syscall.Exit(code)
}

// isPipe reports whether a descriptor is of a named pipe of this user.
func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO && int(st.Uid) == os.Geteuid()
}

// refusedCode is a shell's exit code for a program that did not start.
func refusedCode(err syscall.Errno) int {
	if err == syscall.ENOENT {
		return 127
	}
	return 126
}
