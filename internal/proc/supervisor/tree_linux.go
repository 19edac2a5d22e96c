package supervisor

import (
	"os"
	"syscall"
	"unsafe"

	"github.com/hermes-ls/hermes-ls/internal/proc/processes"

	"golang.org/x/sys/unix"
)

// childAttr starts the child in a new session, so no terminal is asked for a password and a single
// signal reaches its members. If the supervisor is killed, the child dies too.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// guestAttr leaves the child in the session and group of an editor's terminal, so Ctrl-C reaches
// it.
func guestAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// hide keeps other processes of this user, our child among them, from tracing us, which would stop
// us. They also cannot read our environment, which comes from the editor.
func hide() {
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // the editor's own is readable anyway
}

// show undoes hide for the time of a fork.
func show() {
	unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) // on an error, the fork fails and reports it
}

func replace(from, to int) error { return unix.Dup3(from, to, 0) }

// keepFromChildren prepares the supervisor: it adopts orphaned descendants, the child gets only its
// descriptors 0, 1 and 2, and a child of root may not read the server. In separate namespaces it
// keeps the mount capabilities.
func keepFromChildren(trusted bool) {
	unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(unsafe.StringData("hermes-ls\x00"))), 0, 0, 0) // only for ps
	unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGCONT), 0, 0, 0)                                  // when the server dies: a child may have stopped us
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)                                                // since Linux 3.4
	unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)                                             // since 5.11; Go opens with O_CLOEXEC anyway
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	if os.Geteuid() == 0 && !trusted {
		dropReaders()
	}
}

// readers are the capabilities for reading another process's memory: directly, by tracing the
// kernel, or through it. Since Linux 6.14 or so CAP_PERFMON, which CAP_SYS_ADMIN includes, opens
// /proc/PID/environ of an undumpable process.
var readers = []uint{
	unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_PERFMON,
	unix.CAP_SYS_RAWIO, unix.CAP_SYS_MODULE, unix.CAP_BPF,
}

// dropReaders drops these capabilities for good. With them a child of root reads the server's
// environment and memory, undumpable or not. Without them, the kernel forbids it, as to other
// users. Root in a container lacks them by default, and builds and package managers work there.
//
// Children of root keep access to every file of root, and to services running programs for root
// (systemd, cron, a container engine). A boundary for root is the sandbox.
func dropReaders() {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return
	}
	for _, c := range readers {
		unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0) // not known to the kernel: nothing to drop
		keep := ^uint32(1 << (c % 32))
		data[c/32].Effective &= keep
		data[c/32].Permitted &= keep
		data[c/32].Inheritable &= keep
	}
	unix.Capset(&header, &data[0]) // giving up is always allowed
}

// strangers: every orphan comes to the subreaper, so there are none.
func strangers(int) bool { return false }

// below lists all descendants of this process, in any session or group, by reading every process's
// parent. The kernel's lists of children are optional and missing in some kernels.
func below(int) []processes.Process { return processes.Below(os.Getpid()) }
