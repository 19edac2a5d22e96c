package store

import (
	"os"

	"golang.org/x/sys/windows"
)

var errLocked error = windows.ERROR_LOCK_VIOLATION

func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
}

// unlockFile closes the file before it removes it: an open file cannot be removed.
func unlockFile(f *os.File, path string) {
	_ = f.Close()
	_ = os.Remove(path)
}
