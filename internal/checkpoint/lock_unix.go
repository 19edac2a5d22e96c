//go:build unix

package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lock is a file that processes lock against each other. The end of a process gives
// its locks up.
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

// share waits until nobody has it alone.
func (l *lock) share() error { return l.flock(unix.LOCK_SH) }

// tryAlone takes it if nobody else has it.
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
