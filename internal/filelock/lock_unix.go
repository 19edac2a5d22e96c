//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// safe keeps the open from following a link, and from waiting for a pipe.
const safe = unix.O_NOFOLLOW | unix.O_NONBLOCK

// Release gives up the lock of a file and closes the file. To close alone is not enough: a child of this
// process that has not started its program yet holds the lock, too.
func Release(f *os.File) {
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // it fails only for a closed file
	_ = f.Close()                             // only a lock
}

func lock(f *os.File, kind Kind, wait bool) (bool, error) {
	how := unix.LOCK_SH
	if kind == Exclusive {
		how = unix.LOCK_EX
	}
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case !wait && errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}
