package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// CopyOut copies files of the folder top to the folder dest: names are relative, what
// the editor has open goes as it stands there, and links stay links. What is not
// there, or is no file, is left out. Nothing outside either folder is touched.
func (w *Workspace) CopyOut(ctx context.Context, top string, names []string, dest string) (copied []string, err error) {
	from, err := os.OpenRoot(top)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", top, err)
	}
	defer from.Close()
	to, err := os.OpenRoot(dest)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dest, err)
	}
	defer to.Close()
	var open []string
	if w.docs != nil {
		open = w.docs.Paths()
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return copied, err
		}
		var text []byte
		if path := filepath.Join(top, name); slices.Contains(open, path) {
			doc, ok, err := w.docs.Get(ctx, path)
			if err != nil {
				return copied, fmt.Errorf("reading %s in the editor: %w", name, err)
			}
			if ok {
				text = append([]byte{}, doc.Text...)
			}
		}
		done, err := copyOne(from, to, name, text)
		if err != nil {
			return copied, fmt.Errorf("copying %s: %w", name, err)
		}
		if done {
			copied = append(copied, name)
		}
	}
	return copied, nil
}

// copyOne copies a file or a link; text, if there is any, takes the place of the
// file's own.
func copyOne(from, to *os.Root, name string, text []byte) (done bool, err error) {
	info, err := from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := to.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return false, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return false, err
		}
		return true, to.Symlink(target, name)
	case !info.Mode().IsRegular():
		return false, nil
	case text != nil:
		return true, to.WriteFile(name, text, info.Mode().Perm())
	}
	in, err := from.Open(name)
	if err != nil {
		return false, err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return false, err
	}
	_, err = io.Copy(out, in)
	return true, errors.Join(err, out.Close())
}
