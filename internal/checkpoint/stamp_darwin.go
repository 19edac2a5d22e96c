package checkpoint

import (
	"io/fs"
	"syscall"
)

// stampOf returns the stamp of a file. Each change of the file changes it.
func stampOf(info fs.FileInfo) stamp {
	s := stamp{Size: info.Size(), Modified: info.ModTime().UnixNano(), Mode: uint32(info.Mode())}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Changed, s.Inode = syscall.TimespecToNsec(sys.Ctimespec), sys.Ino
	}
	return s
}

// stampsTell: no program can set back the change time in a stamp.
const stampsTell = true
