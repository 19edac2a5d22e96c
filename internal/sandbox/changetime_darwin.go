package sandbox

import (
	"io/fs"
	"syscall"
)

// changeTime is when a file was last changed in any way, which no program can set.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano()
	}
	return 0
}
