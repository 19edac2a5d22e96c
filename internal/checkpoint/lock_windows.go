package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lock is a file lock between processes. When a process ends, the system releases its locks.
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

// share takes a shared lock. It waits while another holder has the exclusive lock.
func (l *lock) share() error { return l.lock(0) }

// tryAlone takes the exclusive lock. If another holder has a lock, it returns false.
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
