package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// replaceFile writes text to p through the editor. If the editor leaves the file to the disk,
// replaceFile replaces it atomically: readers see the old or the new text. A hard link is replaced,
// not written through. If a file cannot be replaced, such as a mount point, it is written in place.
// If it fails, it leaves no files. It returns the stamp of the new text.
func (w *Workspace) replaceFile(ctx context.Context, p place, text []byte, old before) (after stamp, err error) {
	if old.exists() && old.text != nil && bytes.Equal(old.text, text) {
		return old.stamp, nil
	}
	dir, made, err := openParent(p)
	defer func() {
		if err != nil {
			removeFolders(p.folder.root, made)
		}
	}()
	if err != nil {
		return stamp{}, err
	}
	defer dir.Close()
	base := filepath.Base(p.rel)
	if err := writable(dir, base, old.info); err != nil {
		return stamp{}, err
	}
	if done, err := w.writeThroughEditor(ctx, p, text, old.exists()); done || err != nil {
		return stampOf(text), err
	}
	err = w.replaceByRename(p, dir, text, old)
	if old.exists() && safefile.OnlyInPlace(err) {
		err = w.overwrite(p, dir, base, old, text)
	}
	if err != nil {
		return stamp{}, err
	}
	if err := syncFolder(dir); err != nil {
		return stamp{}, fmt.Errorf("the new text is there, but the disk did not confirm it: %w", plain(err))
	}
	return stampWritten(dir, base, text)
}

func (w *Workspace) replaceByRename(p place, dir *os.Root, text []byte, old before) error {
	temp, done := w.temp(p)
	defer done()
	if err := writeTemp(dir, temp, text, old.info); err != nil {
		return err
	}
	base := filepath.Base(p.rel)
	err := w.stillThere(p, dir, base, old.info)
	if err == nil {
		err = dir.Rename(temp, base)
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err
}

// openParent opens the folder of p and creates it if necessary. made lists the created folders,
// outermost first.
func openParent(p place) (dir *os.Root, made []string, err error) {
	root, parent := p.folder.root, filepath.Dir(p.rel)
	if p.rel == "." {
		return nil, nil, &safefile.KindError{Mode: fs.ModeDir}
	}
	for at := parent; at != "."; at = filepath.Dir(at) {
		if _, err := root.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append([]string{at}, made...)
	}
	if len(made) > 0 {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return nil, made, err
		}
	}
	dir, err = safefile.OpenRootIn(root, parent)
	return dir, made, err
}

// removeFolders removes the folders created by openParent, unless they have entries.
func removeFolders(root *os.Root, made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		if root.Remove(made[i]) != nil {
			return
		}
	}
}

// writable returns an error if the user has made the file read-only: a rename ignores the mode.
func writable(dir *os.Root, base string, old fs.FileInfo) error {
	if old == nil {
		return nil
	}
	if old.Mode().Perm()&0o222 == 0 {
		return &fs.PathError{Op: "write", Path: base, Err: fmt.Errorf("it is read-only (mode %04o); make it writable first: %w", old.Mode().Perm(), fs.ErrPermission)}
	}
	f, err := dir.OpenFile(base, os.O_WRONLY|safefile.Flags, 0)
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	if err == nil {
		f.Close()
	}
	return nil // any other trouble is for the write itself to find
}

// writeTemp writes text to the new file temp in dir, with the mode and owner of the file
// it will replace, down to the disk. If it fails, it removes the file.
func writeTemp(dir *os.Root, temp string, text []byte, old fs.FileInfo) (err error) {
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = 0o600 // until its owner is set
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = dir.Remove(temp)
		}
	}()
	if _, err := f.Write(text); err != nil {
		return err
	}
	if old != nil {
		keepOwner(f, old)
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	return f.Sync()
}

// stillThere returns an error if base has changed since old was read.
func (s *scope) stillThere(p place, dir *os.Root, base string, old fs.FileInfo) error {
	now, err := dir.Lstat(base)
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !gone:
		return err
	case old == nil && gone, old != nil && !gone && sameStat(now, old):
		return nil
	}
	return s.staleError(p.abs(), "on disk")
}

func stampWritten(dir *os.Root, base string, text []byte) (stamp, error) {
	if len(text) <= MaxWhole {
		return stampOf(text), nil
	}
	info, err := dir.Stat(base)
	return stamp{info: info}, err
}
