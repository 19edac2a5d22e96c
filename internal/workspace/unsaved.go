package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// Unsaved returns the sorted names of open documents whose text differs from the file: programs
// reading the disk see another text. For an editor that does not list its documents, they are the
// documents changed by the session. Our own chat documents are left out.
func (w *Workspace) Unsaved(ctx context.Context) []string {
	if w.HasUnlistedBuffers() {
		return w.UnsavedEdits(ctx)
	}
	docs, err := w.documents(ctx)
	if err != nil {
		return nil // the editor does not answer: the next command asks again
	}
	var names []string
	for path, doc := range docs {
		p, err := w.locate(path)
		if err == nil && !isOurs(p) && w.differs(ctx, p, doc.Text) {
			names = append(names, w.Name(path))
		}
	}
	slices.Sort(names)
	return names
}

// isOurs reports whether p is a chat document.
func isOurs(p place) bool { return strings.HasPrefix(p.rel, ".hermes/") }

// UnsavedEdits returns the sorted names of unsaved documents changed in the editor by the session
// or its subagents.
func (w *Workspace) UnsavedEdits(ctx context.Context) (names []string) {
	for _, path := range w.edited.list() {
		p, err := w.locate(path)
		if err != nil || isOurs(p) {
			continue
		}
		switch o, open, err := w.comparedAt(ctx, p); {
		case err != nil:
		case !open || o.clean():
			w.edited.remove(path)
		default:
			names = append(names, w.Name(path))
		}
	}
	slices.Sort(names)
	return names
}

// differs compares a text with the file. Sizes are nearly always enough. The editor shows a file in
// another encoding, or with a byte order mark, as UTF-8 without the mark.
func (v *view) differs(ctx context.Context, p place, text []byte) bool {
	info, err := p.folder.root.Stat(p.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil || !info.Mode().IsRegular():
		return false
	}
	if size := info.Size(); size > 2*int64(len(text))+4 || 2*size < int64(len(text)) {
		return true
	}
	onDisk, _, err := v.readWhole(ctx, p.abs())
	if err != nil || bytes.Equal(onDisk, text) {
		return false
	}
	plain := func(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\ufeff")) }
	return !bytes.Equal(plain(textenc.CharsetOf(onDisk).Decode(onDisk)), plain(text))
}
