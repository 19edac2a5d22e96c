//go:build unix

package proc

import (
	"fmt"
	"io"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// addPTY gives the child its own terminal in place of pipes. Our side is duplicated for reading and
// writing, because each has an owner that closes it.
func (p *pipes) addPTY(size *WindowSize, from io.Reader, to io.Writer) error {
	ours, theirs, err := pty.Open()
	if err != nil {
		return fmt.Errorf("opening a pseudo-terminal: %w", err)
	}
	defer ours.Close() // copies of it stay
	p.childEnds = append(p.childEnds, theirs, theirs, theirs)
	if err := pty.Setsize(theirs, &pty.Winsize{Rows: size.Rows, Cols: size.Cols}); err != nil {
		return fmt.Errorf("sizing a pseudo-terminal: %w", err)
	}
	if to == nil {
		to = io.Discard // nothing else reads it, and the child would wait
	}
	out, err := pollable(ours)
	if err != nil {
		return err
	}
	p.outputs, p.writers = append(p.outputs, out), append(p.writers, to)
	if from == nil {
		return nil
	}
	p.stdin, err = pollable(ours)
	return err
}

// pollable is a copy of f on which deadlines work.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("copying a descriptor: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd) // never used
		return nil, fmt.Errorf("preparing a descriptor: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
