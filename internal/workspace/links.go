package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// LinkTarget returns the target of the symbolic link at path. If there is no link, it returns "".
func (d *disk) LinkTarget(path string) (target string, err error) {
	err = d.atLink(path, func(p place) error {
		info, err := p.folder.root.Lstat(p.rel)
		if missing(err) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return nil
		}
		if err == nil {
			target, err = p.folder.root.Readlink(p.rel)
		}
		return err
	})
	return target, err
}

// Link puts a symbolic link at path, where nothing or another link is. It must lead
// to a place in the folders.
func (w *Workspace) Link(ctx context.Context, path, target string) error {
	if err := w.writing.lock(ctx); err != nil {
		return err
	}
	defer w.writing.unlock()
	err := w.atLink(path, func(p place) error {
		leads := target
		if !filepath.IsAbs(leads) {
			leads = filepath.Join(filepath.Dir(p.abs()), target)
		}
		if _, inside := w.within(leads); !inside {
			return &PathError{Path: path, Text: fmt.Sprintf("the link %s leads out of the workspace, to %s", path, target), Err: ErrOutside}
		}
		return w.putLink(p, target)
	})
	if err != nil {
		return w.explain(ctx, "linking", path, err)
	}
	return nil
}

// putLink creates the link under a temporary name and renames it into place.
func (w *Workspace) putLink(p place, target string) error {
	info, err := p.folder.root.Lstat(p.rel)
	if err != nil && !missing(err) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return errors.Join(err, fs.ErrExist)
	}
	dir, made, err := openParent(p)
	if err != nil {
		removeFolders(p.folder.root, made)
		return err
	}
	defer dir.Close()
	temp, done := w.temp(p)
	defer done()
	if err = dir.Symlink(target, temp); err == nil {
		if err = dir.Rename(temp, filepath.Base(p.rel)); err != nil {
			_ = dir.Remove(temp) // the first error is reported
		}
	}
	if err != nil {
		removeFolders(p.folder.root, made)
		return err
	}
	w.forget(p.abs())
	return nil
}

// Executable sets or removes the permission to execute the file at path, for all who may
// read it.
func (w *Workspace) Executable(ctx context.Context, path string, on bool) error {
	if err := w.writing.lock(ctx); err != nil {
		return err
	}
	defer w.writing.unlock()
	err := w.at(path, func(p place) error {
		info, err := p.folder.root.Stat(p.rel)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return &safefile.KindError{Mode: info.Mode()}
		}
		mode := info.Mode().Perm() &^ 0o111
		if on {
			mode |= mode & 0o444 >> 2
		}
		return p.folder.root.Chmod(p.rel, mode)
	})
	if err != nil {
		return w.explain(ctx, "changing the mode of", path, err)
	}
	return nil
}
