package store

import "os"

// unlockFile closes the file before it removes it: an open file cannot be removed.
func unlockFile(f *os.File, path string) {
	_ = f.Close()
	_ = os.Remove(path)
}
