package proc

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// defaultAction gives a signal the system's own action, whatever the Go runtime has set,
// and without its knowledge.
func defaultAction(s unix.Signal) {
	var none [4]uint64                                                                              // handler, flags, restorer and mask of the kernel's sigaction, each at most as long
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0) //nolint:errcheck // all are known
}
