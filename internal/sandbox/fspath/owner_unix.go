//go:build unix

package fspath

import (
	"os"
	"syscall"
)

func ownerOf(info os.FileInfo) (uid uint32, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, true
}

// isLink reports whether a path is a symbolic link. It takes no memory, unlike [os.Lstat].
func isLink(path string) (bool, error) {
	for {
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != syscall.EINTR {
			return st.Mode&syscall.S_IFMT == syscall.S_IFLNK, err
		}
	}
}

// SameOwner reports whether two files belong to the same user.
func SameOwner(a, b string) bool {
	one, err := os.Lstat(a)
	if err != nil {
		return false
	}
	other, err := os.Lstat(b)
	if err != nil {
		return false
	}
	first, ok := ownerOf(one)
	second, ok2 := ownerOf(other)
	return ok && ok2 && first == second
}
