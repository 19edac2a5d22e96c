package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const flags = 0

// try locks f. If another process holds the lock, it returns false and no error.
func try(f *os.File) (bool, error) {
	const exclusive = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), exclusive, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
