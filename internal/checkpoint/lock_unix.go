//go:build unix

package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock is a file lock between processes. When a process ends, the system releases its locks.
type lock struct{ f *os.File }

func openLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	return &lock{f}, nil
}

// share takes a shared lock. It waits while another holder has the exclusive lock.
func (l *lock) share() error { return l.flock(unix.LOCK_SH) }

// tryAlone takes the exclusive lock. If another holder has a lock, it returns false.
func (l *lock) tryAlone() (bool, error) {
	err := l.flock(unix.LOCK_EX | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func (l *lock) flock(how int) error {
	for {
		if err := unix.Flock(int(l.f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (l *lock) close() error { return l.f.Close() }
