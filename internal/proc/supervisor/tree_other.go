//go:build unix && !linux

package supervisor

import (
	"syscall"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"

	"golang.org/x/sys/unix"
)

// childAttr: a session of its own; its group can be signaled as one.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// guestAttr: a group of its own, the one thing that can be signalled here.
func guestAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func hide() {}

func show() {}

func replace(from, to int) error { return unix.Dup2(from, to) }

func keepFromChildren(bool) {
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
}

// strangers tells whether the child's group has members that are not ours to
// collect: without a subreaper orphans go to process 1.
func strangers(child int) bool { return unix.Kill(-child, 0) == nil }

// below lists the group alone. On this system, a process in a session of its own is out of
// reach.
func below(child int) []processes.Process {
	if !strangers(child) {
		return nil
	}
	return []processes.Process{{PID: child, Group: child}}
}
