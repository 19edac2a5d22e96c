//go:build unix

package testdir

import (
	"os"
	"syscall"
)

// hold locks a directory for the rest of this process. If another process holds or has just removed
// it, or if it is a link or another user's, hold returns false.
func hold(dir string) bool {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	if syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) == nil && current(dir, fd) {
		return true // the lock ends with the descriptor, which stays open
	}
	syscall.Close(fd) // nothing was written
	return false
}

// current reports whether the open directory belongs to this user and is still at dir.
func current(dir string, fd int) bool {
	var open, there syscall.Stat_t
	if syscall.Fstat(fd, &open) != nil || syscall.Lstat(dir, &there) != nil {
		return false
	}
	return open.Dev == there.Dev && open.Ino == there.Ino && int(open.Uid) == os.Geteuid()
}
