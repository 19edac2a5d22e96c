package trace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// create creates a file that only the user can read, or empties an earlier trace of the user. It
// follows no link, and it never waits for a pipe's reader.
func create(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return file, err
	}
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if file, err = os.OpenFile(path, os.O_RDWR|noFollow, 0); err != nil {
		return nil, err
	}
	if err := empty(file, before); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s %w; it was not changed. Name another file, or delete it", path, err)
	}
	return file, nil
}

// empty truncates a file if it is an earlier trace.
func empty(file *os.File, before fs.FileInfo) error {
	info, err := file.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("cannot be examined: %w", err)
	case !info.Mode().IsRegular() || !os.SameFile(info, before):
		return errors.New("was replaced meanwhile")
	case !ownAlone(info):
		return errors.New("belongs to another user or has further names")
	}
	beginning := make([]byte, len(Magic))
	if n, err := io.ReadFull(file, beginning); n > 0 && (err != nil || string(beginning) != Magic) {
		return errors.New("exists and is no trace")
	}
	if err := errors.Join(file.Chmod(0o600), file.Truncate(0)); err != nil {
		return fmt.Errorf("cannot be emptied: %w", err)
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}
