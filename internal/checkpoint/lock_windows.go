package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lock is a file that processes lock against each other. The end of a process gives
// its locks up.
type lock struct{ f *os.File }

func openLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			f, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	return &lock{f}, nil
}

// share waits until nobody has it alone.
func (l *lock) share() error { return l.lock(0) }

// tryAlone takes it if nobody else has it.
func (l *lock) tryAlone() (bool, error) {
	err := l.lock(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func (l *lock) lock(flags uint32) error {
	return windows.LockFileEx(windows.Handle(l.f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}

func (l *lock) close() error { return l.f.Close() }
