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

// Unsaved names the open documents whose text in the editor is not that of the
// file, sorted; those that a program which reads the disk sees otherwise. Of an editor that does
// not list its documents, they are those that the session has changed. Our own
// chat documents are none of them.
func (w *Workspace) Unsaved(ctx context.Context) []string {
	if w.HasUnlistedBuffers() {
		return w.UnsavedEdits(ctx)
	}
	docs, err := w.documents(ctx)
	if err != nil {
		return nil // an editor that does not answer: the next command asks again
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

// UnsavedEdits names the documents that the session or its subagents have changed in the editor,
// and that are not saved, sorted.
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

// differs compares a text with the file. Sizes nearly always tell. A file in
// another encoding, or with a mark at its beginning, comes to the editor as UTF-8
// without.
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
