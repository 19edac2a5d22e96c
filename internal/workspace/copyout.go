package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// CopyOut copies files of the folder top to the folder dest: names are relative, what
// the editor has open goes as it stands there, and links stay links. What is not
// there, or is no file, is left out. Nothing outside either folder is touched.
func (w *Workspace) CopyOut(ctx context.Context, top string, names []string, dest string) (copied []string, err error) {
	from, err := safefile.OpenRoot(top)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", top, err)
	}
	defer from.Close()
	to, err := safefile.OpenRoot(dest)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dest, err)
	}
	defer to.Close()
	open := w.openIn(top)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return copied, err
		}
		var text []byte
		if path := filepath.Join(top, name); open[path] {
			if text, err = w.editorText(ctx, path); err != nil {
				return copied, err
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

// openIn are the open documents below top, by their path with links resolved.
func (w *Workspace) openIn(top string) map[string]bool {
	open := map[string]bool{}
	if w.docs == nil {
		return open
	}
	for _, path := range w.docs.Paths() {
		if p, err := w.locate(path); err == nil {
			path = p.abs()
		}
		if _, below := below(top, path); below {
			open[path] = true
		}
	}
	return open
}

// HasUnlistedBuffers reports whether there is an editor that does not list its open
// documents.
func (w *Workspace) HasUnlistedBuffers() bool { return w.docs != nil && w.docs.Paths() == nil }

// CopyUntold asks an editor that does not tell what it has open for those of the
// files of the folder top that may be: likely chooses some, and the session has seen
// some. Where its text is another than the file's it takes the file's place in the
// folder dest. It names the files that are another there now.
func (w *Workspace) CopyUntold(ctx context.Context, top string, names []string, dest string, likely func(name string) bool) (changed []string, err error) {
	if !w.HasUnlistedBuffers() {
		return nil, nil
	}
	to, err := safefile.OpenRoot(dest)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dest, err)
	}
	defer to.Close()
	for _, name := range names {
		path := filepath.Join(top, name)
		if !likely(name) && !w.seenAt(path) {
			continue
		}
		onDisk, err := to.ReadFile(name)
		if err != nil || !utf8.Valid(onDisk) || bytes.IndexByte(onDisk, 0) >= 0 {
			continue // a link, or what an editor may take for text all the same
		}
		text, err := w.editorText(ctx, path)
		if err != nil {
			return changed, err
		}
		if text == nil || bytes.Equal(text, onDisk) {
			continue
		}
		if err := to.WriteFile(name, text, 0o644); err != nil { // keeps the mode that is there
			return changed, fmt.Errorf("copying %s: %w", name, err)
		}
		changed = append(changed, name)
	}
	return changed, nil
}

// seenAt reports whether the session has read or written the file at an absolute path.
func (w *Workspace) seenAt(abs string) bool {
	w.seenMu.Lock()
	defer w.seenMu.Unlock()
	_, seen := w.seen[abs]
	return seen
}

// editorText is what the editor has at an absolute path; nil: it has nothing. A path
// that is a link has nothing of its own.
func (w *Workspace) editorText(ctx context.Context, path string) ([]byte, error) {
	doc, ok, err := Document{}, false, error(nil)
	switch p, outside := w.locate(path); {
	case outside != nil: // in the repository, but not in the session's folders
		doc, ok, err = w.get(ctx, path)
	case p.abs() == path:
		doc, ok, err = w.document(ctx, p)
	}
	if err != nil || !ok {
		return nil, err
	}
	return append([]byte{}, doc.Text...), nil
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
	in, _, err := safefile.OpenSeen(from, name)
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
