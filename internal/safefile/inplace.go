package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// OnlyInPlace reports whether err, from creating a file beside another or renaming it, means that
// the other file can only be written in place. This is true for a mount point, and in a directory
// that is read-only or belongs to another user.
func OnlyInPlace(err error) bool {
	return errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// ErrNames reports a file with several names (hard links). A change in place would change all of
// them, also a name in another directory or a protected name.
var ErrNames = errors.New("the file has several names (hard links), and can only be written in place here, which would change it under each of them")

// Overwrite replaces the content of f, which is open for writing, from old to text. If f has several names,
// it returns [ErrNames]. If it fails, it writes old back. If the process is killed meanwhile, f has the
// beginning of text and the rest of old.
func Overwrite(f *os.File, old, text []byte) error {
	if err := oneName(f); err != nil {
		return err
	}
	err := overwrite(f, text)
	if err == nil {
		return nil
	}
	if back := overwrite(f, old); back != nil {
		return fmt.Errorf("%w; the old text could not be written back either: %w", bare(err), bare(back))
	}
	return bare(err)
}

// oneName returns an error if f is not a regular file with a single name.
func oneName(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &KindError{info.Mode()}
	}
	if _, names, known := Links(info); known && names > 1 {
		return ErrNames
	}
	return nil
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

// saveInPlace writes text into the file at path, because nothing can be created beside it or moved
// over it. why is the error of that. It is returned if the file cannot be read.
func saveInPlace(path string, text []byte, why error) error {
	old, err := Read(path, Settings)
	if err != nil {
		return why
	}
	f, err := os.OpenFile(path, os.O_WRONLY|Flags, 0)
	if err != nil {
		return err
	}
	return errors.Join(Overwrite(f, old, text), f.Close())
}

// Overwrite changes the regular file name in place. change receives its content, and returns the
// new content, or false to keep the file. A file of more than limit bytes stays.
func (f *Folder) Overwrite(name string, limit int64, change func(old []byte) (text []byte, ok bool)) error {
	return f.in("write", name, func(dir handle, base string) error { return overwriteIn(dir, base, limit, change) })
}

func overwriteIn(dir handle, base string, limit int64, change func(old []byte) ([]byte, bool)) error {
	old, err := dir.open(base)
	if err != nil {
		return err
	}
	info, err := old.Stat()
	if err != nil {
		return errors.Join(err, old.Close())
	}
	was, err := ReadAll(old, info.Size(), limit)
	if err = errors.Join(err, old.Close()); err != nil {
		return err
	}
	text, ok := change(was)
	if !ok {
		return nil
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
