//go:build unix && !linux

package supervisor

import (
	"syscall"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"

	"golang.org/x/sys/unix"
)

// childAttr starts the child in a new session; its group can be signaled.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// guestAttr starts the child in a new group; only a group can be signaled here.
func guestAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func hide() {}

func show() {}

func replace(from, to int) error { return unix.Dup2(from, to) }

func keepFromChildren(bool) {
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
}

// strangers reports whether the child's group has members we cannot collect: without a subreaper,
// orphans go to process 1.
func strangers(child int) bool { return unix.Kill(-child, 0) == nil }

// below lists the group alone. On this system, a process in another session is out of reach.
func below(child int) []processes.Process {
	if !strangers(child) {
		return nil
	}
	return []processes.Process{{PID: child, Group: child}}
}
