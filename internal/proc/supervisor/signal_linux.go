package supervisor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Actions of the system for signals.
const (
	actDefault = 0
	actIgnore  = 1
)

// setAction gives a signal an action of the system, whatever the Go runtime has set, and
// without its knowledge.
func setAction(s unix.Signal, action uint64) {
	act := [4]uint64{action}                                                                       // handler, flags, restorer and mask of the kernel's sigaction, each at most as long
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0) // all are known
}
