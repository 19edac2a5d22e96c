//go:build unix

package scratch

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// acquire opens a file and locks it until it is closed or this process ends. If the file is missing
// or locked by another process, it returns an error.
func acquire(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// Release gives up the lock of a file and closes the file. To close alone is not enough: a child of this
// process that has not started its program yet holds the lock, too.
func Release(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // it fails only for a closed file
	_ = f.Close()                             // only a lock
}

// mine reports whether the directory belongs to this user: others' directories are not touched.
func mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

func dead(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH }
