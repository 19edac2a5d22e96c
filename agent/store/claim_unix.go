//go:build unix

package store

import (
	"os"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
)

// unlockFile removes the file before it releases the lock, so no file is left.
func unlockFile(f *os.File, path string) {
	_ = os.Remove(path)
	filelock.Release(f)
}
