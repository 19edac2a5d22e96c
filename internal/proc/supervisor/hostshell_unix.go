//go:build unix

package supervisor

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"
)

// hostShell is the supervisor in another program's hands. It never returns.
func hostShell(path string) {
	// Without waiting for a writer: without a writer, the server is gone.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil || !isPipe(fd) {
		fmt.Fprintln(os.Stderr, "hermes-ls: this command was started too late: its session is gone")
		syscall.Exit(1)
	}
	unix.SetNonblock(fd, false) // we opened the descriptor
	code := 1
	// Before the child starts: it may end at once, and its terminal with it. A child would inherit
	// ignored signals, but not caught ones.
	over := make(chan struct{}) // closed when the child has ended: its descendants end then
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGHUP)
	supervisor{
		control: os.NewFile(uintptr(fd), path),
		attr:    guestAttr(),
		how:     ofGuest,
		tell: func(kind string, about ...any) {
			switch kind {
			case "X":
				code = spec.ExitCode(about[0].(int), about[1].(int))
				close(over)
			case "E":
				code = refusedCode(syscall.Errno(about[0].(int)))
				fmt.Fprintln(os.Stderr, "hermes-ls: the command did not start:", syscall.Errno(about[0].(int)))
			case "S":
				code = refusedCode(0)
				fmt.Fprintln(os.Stderr, "hermes-ls: the command did not start, because its sandbox could not be made:", about[0])
			case "K":
				fmt.Fprintln(os.Stderr, "hermes-ls: everything was ended, because it went over its limit of", spec.LimitNames[about[0].(int)])
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
					stops <- spec.DefaultGrace
				}
			}()
		},
	}.run()
	os.RemoveAll(filepath.Dir(path)) // its maker does too, if it lives
	syscall.Exit(code)
}

// isPipe reports whether a descriptor is of a named pipe of this user.
func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO && int(st.Uid) == os.Geteuid()
}

// refusedCode returns a shell's exit code for a failed start.
func refusedCode(err syscall.Errno) int {
	if err == syscall.ENOENT {
		return 127
	}
	return 126
}
