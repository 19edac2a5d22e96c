package filetime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the current time in nanoseconds.
func Now() int64 { return clock(unix.CLOCK_REALTIME) }

// Stamp returns the time in nanoseconds by the kernel's clock for file stamps. Later changes of
// files never have an earlier stamp.
func Stamp() int64 { return clock(unix.CLOCK_REALTIME_COARSE) }

func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return time.Now().UnixNano()
	}
	return t.Nano()
}

func nap() {
	t := unix.NsecToTimespec(int64(500 * time.Microsecond))
	_ = unix.Nanosleep(&t, nil)
}
