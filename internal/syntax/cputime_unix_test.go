//go:build unix

package syntax

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time of this process. Unlike the time of a clock, it does not
// depend on the load of the machine.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // RUSAGE_SELF is always there
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
