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
