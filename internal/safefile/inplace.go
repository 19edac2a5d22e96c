package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OnlyInPlace reports whether err, of a new file beside another one or of its renaming, leaves
// one way to change that other file: to write into it. That is so for a mount point, and in a
// folder that is read-only or belongs to another user.
func OnlyInPlace(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// Overwrite replaces the content of f, which is open for writing, from old to text. If it fails, it
// writes old back. If the process is killed meanwhile, f has the beginning of text and the rest of old.
func Overwrite(f *os.File, old, text []byte) error {
	err := overwrite(f, text)
	if err == nil {
		return nil
	}
	if back := overwrite(f, old); back != nil {
		return fmt.Errorf("%w; the old text could not be written back either: %w", bare(err), bare(back))
	}
	return bare(err)
}

func overwrite(f *os.File, text []byte) error {
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(text))); err != nil {
		return err
	}
	return f.Sync()
}

// MoveOver renames the file temp to path, both absolute. If path can only be written in place, such as
// a file that a container mounts, MoveOver writes the text of temp into it. It does not remove temp.
func MoveOver(temp, path string) error {
	err := os.Rename(temp, path)
	if err == nil || !OnlyInPlace(err) {
		return err
	}
	old, readErr := Read(path, Settings)
	text, textErr := Read(temp, Settings)
	f, openErr := os.OpenFile(path, os.O_WRONLY|Flags, 0)
	if openErr != nil {
		return openErr
	}
	if readErr != nil || textErr != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(Overwrite(f, old, text), f.Close())
}

// overwriteIn writes text into the regular file base of dir.
func overwriteIn(dir handle, base string, text []byte) error {
	old, err := dir.open(base)
	if err != nil {
		return err
	}
	info, err := old.Stat()
	if err != nil {
		return errors.Join(err, old.Close())
	}
	was, err := ReadAll(old, info.Size(), Settings)
	if err = errors.Join(err, old.Close()); err != nil {
		return err
	}
	f, err := dir.openWriting(base)
	if err != nil {
		return err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(info, now) {
		err = ErrNotRegular
	}
	if err == nil {
		err = Overwrite(f, was, text)
	}
	return errors.Join(err, f.Close())
}
