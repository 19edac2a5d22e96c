//go:build unix

package supervisor

import (
	"syscall"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc/spec"

	"golang.org/x/sys/unix"
)

// tree is the child and its descendants, as its supervisor sees them.
type tree struct {
	child  int
	how    chan syscall.WaitStatus // how the child ended, once
	exited chan struct{}           // closed when the child has ended
	gone   chan struct{}           // closed when nothing is left
}

// newTree returns the tree of a child. If the child was reaped, ended is how it ended.
func newTree(child int, ended *syscall.WaitStatus) *tree {
	t := &tree{
		child:  child,
		how:    make(chan syscall.WaitStatus, 1),
		exited: make(chan struct{}),
		gone:   make(chan struct{}),
	}
	if ended != nil {
		t.hasEnded(*ended)
	}
	go t.reap()
	return t
}

// reap collects ended descendants, including adopted orphans.
func (t *tree) reap() {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no child is left
			for strangers(t.child) {
				time.Sleep(10 * time.Millisecond)
			}
			close(t.gone)
			return
		case pid == t.child:
			t.hasEnded(ws)
		}
	}
}

// hasEnded records how the child ended.
func (t *tree) hasEnded(ws syscall.WaitStatus) {
	t.how <- ws
	close(t.exited)
}

// end stops everything, gently first, and returns how many could not be ended.
func (t *tree) end(grace time.Duration, stops <-chan time.Duration) (left int) {
	if t.terminate(grace, stops) {
		return 0
	}
	pause := time.Millisecond
	for deadline := time.Now().Add(spec.LastTries); ; pause = min(2*pause, 50*time.Millisecond) {
		left = t.signal(unix.SIGKILL, 0)
		if t.isGone(pause) {
			return 0
		}
		if time.Now().After(deadline) {
			return max(left, 1)
		}
	}
}

// terminate asks all descendants to end, and reports whether they did within grace. A further stop
// may shorten the grace period.
func (t *tree) terminate(grace time.Duration, stops <-chan time.Duration) bool {
	deadline := time.Now().Add(grace)
	if grace <= 0 {
		return t.isGone(0)
	}
	// The group first: it nearly always contains everything.
	asked := t.ask()
	if asked != 0 && t.isGone(2*time.Millisecond) {
		return true
	}
	t.signal(unix.SIGTERM, asked)
	for {
		timer := time.NewTimer(time.Until(deadline))
		select {
		case <-t.gone:
			return true
		case <-timer.C:
			return false
		case shorter := <-stops:
			if d := time.Now().Add(shorter); d.Before(deadline) {
				deadline = d
			}
		}
	}
}

func (t *tree) isGone(within time.Duration) bool {
	select {
	case <-t.gone:
		return true
	default:
	}
	select {
	case <-t.gone:
		return true
	case <-time.After(within):
		return false
	}
}

// ask sends SIGTERM to the child's group; a stopped process must continue to receive it.
// Once the child is collected, its number may be another process's: then ask sends nothing and
// returns 0.
func (t *tree) ask() (group int) {
	select {
	case <-t.exited:
		return 0
	default:
		unix.Kill(-t.child, unix.SIGTERM) // it may be gone
		unix.Kill(-t.child, unix.SIGCONT) // it may be gone
		return t.child
	}
}

// signal sends sig to all descendants outside the group except, and returns how many there were. A
// group gets it as a whole, which no fork can outrun. Our own group, shared by a child in an
// editor's terminal, is signaled process by process.
func (t *tree) signal(sig unix.Signal, except int) (n int) {
	ours, sent := unix.Getpgrp(), map[int]bool{except: true}
	for _, p := range below(t.child) {
		n++
		if p.Group == ours || sig == unix.SIGKILL {
			unix.Kill(p.PID, sig) // it may be gone
		}
		if p.Group != ours && !sent[p.Group] {
			sent[p.Group] = true
			unix.Kill(-p.Group, sig) // it may be gone
		}
		unix.Kill(p.PID, unix.SIGCONT) // it may be gone
	}
	return n
}
