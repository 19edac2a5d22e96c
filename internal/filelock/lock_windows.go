package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const safe = 0

// Release gives up the lock of a file and closes the file.
func Release(f *os.File) { _ = f.Close() } // only a lock

func lock(f *os.File, kind Kind, wait bool) (bool, error) {
	var flags uint32
	if kind == Exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
