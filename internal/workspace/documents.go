package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// document returns the open document at p. The editor may name the path through a link we resolved,
// so the path of every open document is resolved, too. If a folder has replaced the file, there is
// none: the editor could not save it.
func (v *view) document(ctx context.Context, p place) (Document, bool, error) {
	if v.docs == nil || p.hasFolder() || (v.HasUnlistedBuffers() || slices.Contains(pictureNames, strings.ToLower(filepath.Ext(p.rel)))) && p.hasPicture() {
		return Document{}, false, nil
	}
	tried := []string{filepath.Join(p.folder.given, p.rel)}
	if abs := p.abs(); abs != tried[0] {
		tried = append(tried, abs)
	}
	for _, path := range tried {
		doc, ok, err := v.get(ctx, path)
		if errors.Is(err, ErrRefused) && p.absent() {
			err = &PathError{Path: v.Name(path), Text: err.Error(), Err: errAbsent}
		}
		if ok || err != nil {
			return doc, ok, err
		}
	}
	for _, path := range v.docs.Paths() {
		if path == tried[0] || path == tried[len(tried)-1] {
			continue
		}
		if q, err := v.locateExact(path); err == nil && q == p {
			return v.get(ctx, path)
		}
	}
	return Document{}, false, nil
}

// pictureNames are the extensions of pictures.
var pictureNames = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"}

// hasPicture reports whether a picture is on disk at p. An editor's text of it is no picture, and
// many editors refuse to read it.
func (p place) hasPicture() bool {
	head, err := safefile.HeadIn(p.folder.root, p.rel, 512)
	if err != nil {
		return false
	}
	tiff := bytes.HasPrefix(head, []byte("II*\x00")) || bytes.HasPrefix(head, []byte("MM\x00*"))
	return bytes.IndexByte(head, 0) >= 0 && (tiff || strings.HasPrefix(http.DetectContentType(head), "image/")) // a text can begin like a BMP
}

// hasFolder reports whether a folder is on disk at p.
func (p place) hasFolder() bool {
	info, err := p.folder.root.Lstat(p.rel)
	return err == nil && info.IsDir()
}

// errAbsent is returned if the editor refuses to read a path missing on disk. Some clients refuse
// instead of reporting a missing file. So a new file may be written if the editor accepts the
// write.
var errAbsent = errors.Join(ErrRefused, ErrNotFound)

// absent reports whether nothing is on disk at p.
func (p place) absent() bool {
	_, err := p.folder.root.Lstat(p.rel)
	return missing(err)
}

func (v *view) get(ctx context.Context, path string) (Document, bool, error) {
	doc, ok, err := v.docs.Get(ctx, path)
	if refused := errors.Is(err, ErrRefused); refused || err == nil {
		v.refusals.note(path, refused)
	}
	switch {
	case errors.Is(err, ErrRefused):
		return Document{}, false, v.refused("read", path, err)
	case err != nil:
		return Document{}, false, fmt.Errorf("asking the editor for %s: %w", v.Name(path), err)
	}
	return doc, ok, nil
}

// refusals are the paths the editor has refused to read. A workspace shares them with its forks. It
// is safe for concurrent use.
type refusals struct {
	mu    sync.Mutex
	paths map[string]bool
}

func (r *refusals) note(path string, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !refused:
		delete(r.paths, path)
	case r.paths == nil:
		r.paths = map[string]bool{path: true}
	default:
		r.paths[path] = true
	}
}

func (r *refusals) has(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paths[path]
}

// hidden reports whether the editor refuses to read the file at p. It asks only if the editor has
// refused before: otherwise a search would open every file in the editor.
func (v *view) hidden(ctx context.Context, p place) bool {
	if c, ok := v.docs.(copied); ok {
		q, err := c.original(p.abs())
		return err == nil && c.of.hidden(ctx, q)
	}
	if !v.refusals.has(filepath.Join(p.folder.given, p.rel)) && !v.refusals.has(p.abs()) {
		return false
	}
	_, _, err := v.document(ctx, p)
	return errors.Is(err, ErrRefused)
}

// refused returns the error for a path the editor refuses to read or write.
func (v *view) refused(verb, path string, err error) error {
	name := v.Name(path)
	return &PathError{Path: name, Text: fmt.Sprintf("The editor refused to %s %s: %v. Nothing was read or changed on the disk", verb, name, err), Advice: ". Ask the user, or work without this file.", Err: ErrRefused}
}

// writeThroughEditor makes text the content of p through the editor. If the editor
// leaves the file to the disk, it returns false; see [Documents]. If the editor confirms the write, but
// neither it nor the disk has another text than before, it returns an error.
func (v *view) writeThroughEditor(ctx context.Context, p place, text []byte, unknown bool) (done bool, err error) {
	if v.docs == nil {
		return false, nil
	}
	old, _ := readBefore(p, true) // on an error, every text is a new one
	done, err = v.sendToEditor(ctx, p, text, unknown)
	if !done || err != nil || old.text != nil && bytes.Equal(old.text, text) {
		return done, err
	}
	arrived := poll(context.WithoutCancel(ctx), settleLimit, func() bool {
		if now, err := readBefore(p, true); err == nil && now.exists() && !sameBefore(old, now) {
			return true
		}
		doc, open, err := v.document(ctx, p)
		return err == nil && open && (!old.exists() || !equalTexts(doc.Text, old.text))
	})
	if !arrived {
		return true, v.unconfirmed(p)
	}
	return true, nil
}

// sameBefore reports whether a file has not changed between two reads. Of a large file, it compares
// size and time.
func sameBefore(a, b before) bool {
	switch {
	case a.exists() != b.exists():
		return false
	case a.text == nil || b.text == nil:
		return (a.text == nil) == (b.text == nil) && (a.info == nil || sameStat(a.info, b.info))
	}
	return bytes.Equal(a.text, b.text)
}

// sendToEditor is [view.writeThroughEditor] without a look at the result.
func (v *view) sendToEditor(ctx context.Context, p place, text []byte, unknown bool) (done bool, err error) {
	if v.docs == nil {
		return false, nil
	}
	path := filepath.Join(p.folder.given, p.rel)
	done, err = v.docs.Write(ctx, path, text, unknown)
	switch {
	case errors.Is(err, ErrRefused):
		return false, v.refused("write", path, err)
	case err != nil:
		return false, fmt.Errorf("writing %s through the editor: %w", v.Name(path), err)
	}
	return done, nil
}

// remove deletes the file at p. The text of a file is emptied through the editor first: if the
// editor refuses this write, it refuses the deletion. If the deletion fails, remove writes old
// back.
func (w *Workspace) remove(ctx context.Context, p place, old Image, del func() error) (undo func() error, err error) {
	undo = func() error { return nil }
	if old.There() && old.Mode.IsRegular() {
		done, err := w.sendToEditor(ctx, p, nil, !old.Open) // its file is removed in any case
		if err != nil {
			return nil, err
		}
		if done {
			undo = func() error { return w.rewrite(context.WithoutCancel(ctx), p, old) }
		}
	}
	err = del()
	if missing(err) && old.Open {
		err = nil // the text was never saved
	}
	if err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// rewrite puts the text of a file back, through the editor if it is text.
func (w *Workspace) rewrite(ctx context.Context, p place, old Image) error {
	if utf8.Valid(old.Text) {
		_, err := w.writeThroughEditor(ctx, p, old.Text, !old.Open)
		return err
	}
	dir, _, err := openParent(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	return w.replaceByImage(p, dir, old)
}

// documents returns the open documents of the folders, by resolved path. If the file holds the text
// to read, the document is left out.
func (v *view) documents(ctx context.Context) (map[string]Document, error) {
	docs := make(map[string]Document)
	if v.docs == nil {
		return docs, nil
	}
	for _, path := range v.docs.Paths() {
		p, err := v.locateExact(path)
		if err != nil {
			continue // a document from elsewhere
		}
		doc, ok, err := v.get(ctx, path)
		if err != nil {
			return nil, err
		}
		if ok && !v.compared(p, doc).stale() {
			docs[p.abs()] = doc
		}
	}
	return docs, nil
}
