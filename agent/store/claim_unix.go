//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var errLocked error = unix.EWOULDBLOCK

func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// unlockFile removes the file before it releases the lock, so no file is left.
func unlockFile(f *os.File, path string) {
	_ = os.Remove(path)
	_ = f.Close()
}
