package checkpoint

import (
	"io/fs"
	"syscall"
	"time"
)

// stampOf is what the file system says of a file: any change of the file changes it.
func stampOf(info fs.FileInfo) stamp {
	s := stamp{Size: info.Size(), Modified: info.ModTime().UnixNano(), Mode: uint32(info.Mode())}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Changed, s.Inode = syscall.TimespecToNsec(sys.Ctimespec), sys.Ino
	}
	return s
}

// stampsTell: no program can set back what a stamp says of the time of a change.
const stampsTell = true

// now is the time.
func now() int64 { return time.Now().UnixNano() }

// stampNow is the clock that files are stamped by.
func stampNow() int64 { return now() }
