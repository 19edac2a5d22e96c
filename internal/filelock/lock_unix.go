//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flags keep the open from following a link, and from waiting for a pipe.
const flags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// try locks f. If another process holds the lock, it returns false and no error.
func try(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}
