package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
)

// openLock opens a file to lock, and makes it and its directory if they are missing.
func openLock(path string) (*os.File, error) {
	f, err := filelock.Open(path, os.O_CREATE)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			f, err = filelock.Open(path, os.O_CREATE)
		}
	}
	return f, err
}
