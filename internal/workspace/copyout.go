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

// CopyOut copies files of the folder top to the folder dest. names are relative. Of open documents
// it copies the text in the editor, and links and holes in files stay. It leaves out missing files,
// other kinds of files, and files larger than [MaxCopied]. It touches nothing outside either
// folder.
func (v *view) CopyOut(ctx context.Context, top string, names []string, dest string) (copied []string, err error) {
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
	open := v.openIn(top)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return copied, err
		}
		var text []byte
		if path := filepath.Join(top, name); open[path] {
			if text, err = v.editorText(ctx, path); err != nil {
				return copied, err
			}
		}
		done, err := copyOne(ctx, from, to, name, text)
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
func (v *view) openIn(top string) map[string]bool {
	open := map[string]bool{}
	if v.docs == nil {
		return open
	}
	for _, path := range v.docs.Paths() {
		if p, err := v.locate(path); err == nil {
			path = p.abs()
		}
		if _, below := below(top, path); below {
			open[path] = true
		}
	}
	return open
}

// HasUnlistedBuffers reports whether the editor, if any, does not list its open documents.
func (v *view) HasUnlistedBuffers() bool { return v.docs != nil && v.docs.Paths() == nil }

// CopyUnlisted asks an editor that does not list its open documents for possibly open files of the
// folder top: the files chosen by likely, and the files read by the session. If the text in the
// editor differs from the file, it replaces the file in the folder dest. It returns the names of
// these files.
func (w *Workspace) CopyUnlisted(ctx context.Context, top string, names []string, dest string, likely func(name string) bool) (changed []string, err error) {
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
			continue // a link, or a binary file, which an editor may return as text
		}
		text, err := w.editorText(ctx, path)
		if err != nil {
			return changed, err
		}
		if text == nil || bytes.Equal(text, onDisk) {
			continue
		}
		if err := to.WriteFile(name, text, 0o644); err != nil { // keeps the existing mode
			return changed, fmt.Errorf("copying %s: %w", name, err)
		}
		changed = append(changed, name)
	}
	return changed, nil
}

// seenAt reports whether the session has read or written the file at an absolute path.
func (r *readTexts) seenAt(abs string) bool {
	r.seenMu.Lock()
	defer r.seenMu.Unlock()
	_, seen := r.seen[abs]
	return seen
}

// editorText returns the editor's text at an absolute path. If there is none, or the path is a
// link, it returns nil.
func (v *view) editorText(ctx context.Context, path string) ([]byte, error) {
	doc, ok, err := Document{}, false, error(nil)
	switch p, outside := v.locate(path); {
	case outside != nil: // in the repository, but not in the session's folders
		doc, ok, err = v.get(ctx, path)
	case p.abs() == path:
		var o opened
		o, ok, err = v.reading(ctx, p)
		doc = o.Document
	}
	if err != nil || !ok {
		return nil, err
	}
	return append([]byte{}, doc.Text...), nil
}

// copyOne copies a file or a link. If text is not nil, it replaces the text of the file.
func copyOne(ctx context.Context, from, to *os.Root, name string, text []byte) (done bool, err error) {
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
	in, info, err := safefile.OpenSeen(from, name)
	if err != nil {
		return false, err
	}
	defer in.Close()
	if info.Size() > MaxCopied {
		return false, nil
	}
	out, err := to.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return false, err
	}
	err = copyData(ctx, out, in, info.Size())
	return true, errors.Join(err, out.Close())
}

// MaxCopied is the size limit, in bytes, of a file for [Workspace.CopyOut].
const MaxCopied = 1 << 30

// copyPart is how much is copied between two looks at the context.
const copyPart = 16 << 20

// copyData copies the first size bytes of a file. Holes stay holes, so a sparse file does not fill
// the disk.
func copyData(ctx context.Context, out, in *os.File, size int64) error {
	at := int64(0)
	for {
		begin, end, ok := nextData(in, at, size)
		if !ok {
			return out.Truncate(size)
		}
		for at = begin; at < end; {
			if err := ctx.Err(); err != nil {
				return err
			}
			n, err := copyRange(out, in, at, min(copyPart, end-at))
			if err != nil {
				return err
			}
			if n == 0 { // the file has become shorter
				return nil
			}
			at += n
		}
	}
}

// copyRange copies n bytes from an offset to the same offset.
func copyRange(out, in *os.File, at, n int64) (int64, error) {
	for _, f := range []*os.File{in, out} {
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			return 0, err
		}
	}
	return io.Copy(out, io.LimitReader(in, n))
}
