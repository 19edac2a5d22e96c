package safefile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes the file at path atomically: readers see the old text or the new, and of two
// writers at the same time, one wins. The file is new, with mode; a link at path is replaced. The
// text may be lost if the power fails. If Replace fails, nothing has changed. Use it for the
// program's own files.
func Replace(path string, text []byte, mode fs.FileMode) error {
	return replace(path, text, mode, false)
}

// Save is Replace for a file of the user. It follows a link at path, keeps the permissions of a
// file that exists, and returns after the disk has confirmed the text. A file that can only be
// written in place, such as one mounted by a container, is written in place.
func Save(path string, text []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	err := replace(path, text, mode, true)
	if OnlyInPlace(err) {
		return saveInPlace(path, text, err)
	}
	return err
}

// replace moves a new file over path. If confirmed, the disk has confirmed its text before.
func replace(path string, text []byte, mode fs.FileMode, confirmed bool) error {
	temp := filepath.Join(filepath.Dir(path), ".hermes-"+rand.Text()[:12]+".tmp")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode) // the umask does not apply
	}
	if err == nil && confirmed {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp) // the first error is more useful
	}
	return err
}
