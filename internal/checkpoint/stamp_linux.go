package checkpoint

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stampOf returns the stamp of a file. Each change of the file changes it.
func stampOf(info fs.FileInfo) stamp {
	s := stamp{Size: info.Size(), Modified: info.ModTime().UnixNano(), Mode: uint32(info.Mode())}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Changed, s.Inode = syscall.TimespecToNsec(sys.Ctim), sys.Ino
	}
	return s
}

// stampsTell: no program can set back the change time in a stamp.
const stampsTell = true

// now returns the current time.
func now() int64 { return clock(unix.CLOCK_REALTIME) }

// stampNow returns the time by the clock that the kernel uses for file stamps. This clock does
// not advance between two ticks, and for longer on a busy virtual machine. Later changes of
// files have no earlier stamp.
func stampNow() int64 { return clock(unix.CLOCK_REALTIME_COARSE) }

func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return time.Now().UnixNano()
	}
	return t.Nano()
}
