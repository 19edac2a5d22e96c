//go:build unix

package safefile

import (
	"io/fs"
	"syscall"
)

func systemLinks(info fs.FileInfo) (id FileID, names uint64, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}, 0, false
	}
	return FileID{uint64(stat.Dev), stat.Ino}, uint64(stat.Nlink), true // other types elsewhere
}
