//go:build unix

package proc

import (
	"bytes"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Spare keeps a supervisor waiting for a child. A suitable child with [Cmd.Spare] starts some
// milliseconds earlier. The zero value has none. It is safe for concurrent use.
type Spare struct {
	mu      sync.Mutex
	pipes   *pipes
	owner   owner
	closed  bool
	filling sync.WaitGroup
}

// fits reports whether a waiting supervisor can start a child: it has three pipes, and neither
// limits nor bounds.
func (c Cmd) fits() bool {
	return c.PTY == nil && c.Confine == nil && c.Limits == Limits{} && c.Stdin != nil && c.Stdout != nil && c.Stderr != nil && !same(c.Stdout, c.Stderr)
}

// take returns the waiting supervisor and the pipes to it and to the child. If there is none, or it
// does not fit or has ended, the pipes are nil.
func (s *Spare) take(c Cmd) (p *pipes, o owner) {
	if !c.fits() {
		return nil, nil
	}
	s.mu.Lock()
	p, o, s.pipes, s.owner = s.pipes, s.owner, nil, nil
	s.mu.Unlock()
	if p == nil {
		return nil, nil
	}
	if ended(p) {
		release(p, o)
		return nil, nil
	}
	p.writers = []io.Writer{c.Stdout, c.Stderr}
	return p, o
}

// ended reports whether a waiting supervisor has ended: its end of the status pipe is closed.
func ended(p *pipes) bool {
	raw, err := p.status.SyscallConn()
	if err != nil {
		return true
	}
	ready := true
	err = raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		ready = n != 0 || err != nil
	})
	return ready || err != nil
}

// Fill starts a supervisor in the background if none waits. Close waits for the start.
func (s *Spare) Fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.pipes != nil {
		return
	}
	s.filling.Go(func() {
		p, o := newSpare()
		s.mu.Lock()
		defer s.mu.Unlock()
		if p != nil && (s.closed || s.pipes != nil) {
			release(p, o)
			return
		}
		s.pipes, s.owner = p, o
	})
}

// newSpare starts a supervisor. If the start fails, it returns nil: the next child gets a separate
// supervisor.
func newSpare() (*pipes, owner) {
	p, err := newPipes(Cmd{Stdin: new(bytes.Reader), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)})
	if err != nil {
		return nil, nil
	}
	var process *os.Process
	process, err = startSupervisor(p.childEnds, nil)
	p.closeChildEnds()
	if err != nil {
		p.closeParentEnds()
		return nil, nil
	}
	return p, supervised{process}
}

// release ends a waiting supervisor: the end of its control pipe ends it.
func release(p *pipes, o owner) {
	p.closeParentEnds()
	_ = o.wait(true) // how it ended does not matter
}

// Close ends the waiting supervisor.
func (s *Spare) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.filling.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipes != nil {
		release(s.pipes, s.owner)
		s.pipes, s.owner = nil, nil
	}
}
