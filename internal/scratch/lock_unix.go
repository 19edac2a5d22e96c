//go:build unix

package scratch

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// acquire opens a file and locks it until it is closed, or we are dead. An error
// says that it is not there, or that another process holds it.
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

// mine tells whether the folder is this user's: another's is not touched.
func mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// dead reports whether there is no process of that number.
func dead(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH }
