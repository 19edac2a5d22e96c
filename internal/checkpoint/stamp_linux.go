package checkpoint

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stampOf is what the file system says of a file: any change of the file changes it.
func stampOf(info fs.FileInfo) stamp {
	s := stamp{Size: info.Size(), Modified: info.ModTime().UnixNano(), Mode: uint32(info.Mode())}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Changed, s.Inode = syscall.TimespecToNsec(sys.Ctim), sys.Ino
	}
	return s
}

// stampsTell: no program can set back what a stamp says of the time of a change.
const stampsTell = true

// now is the time.
func now() int64 { return clock(unix.CLOCK_REALTIME) }

// stampNow is the clock that the kernel stamps files by: it stands still between two
// ticks, and on a busy virtual machine for longer. What is changed from here on has no
// earlier stamp.
func stampNow() int64 { return clock(unix.CLOCK_REALTIME_COARSE) }

func clock(id int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return time.Now().UnixNano()
	}
	return t.Nano()
}
