package workspace

import (
	"bytes"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// How long an edit waits until the editor has reloaded a document after its file has changed:
// normally, and after a wait in vain; and how often it looks.
const (
	reloadLimit = 3 * time.Second
	vainLimit   = 300 * time.Millisecond
	lookEvery   = 100 * time.Millisecond
)

// opened is an open document, compared with its file.
type opened struct {
	Document
	state agreement
	lossy bool
	file  []byte // nil: there is none, or it is too large
}

// comparedAt returns the open document at p, compared with its file.
func (v *view) comparedAt(ctx context.Context, p place) (o opened, open bool, err error) {
	doc, open, err := v.document(ctx, p)
	if !open || err != nil {
		return opened{}, false, err
	}
	return v.compared(p, doc), true, nil
}

// compared compares a document with its file. If the file cannot be read, the document counts as
// unsaved.
func (v *view) compared(p place, doc Document) opened {
	o := opened{Document: doc, state: unsaved}
	before, err := readBefore(p, true)
	if err != nil && !missing(err) || before.exists() && before.text == nil {
		return o
	}
	o.file = before.text
	if v.Earlier != nil {
		v.saved.before(p.abs(), doc.Text, o.file, v.Earlier)
	}
	o.state, o.lossy = v.saved.judge(p.abs(), doc.Text, o.file)
	return o
}

// stale reports whether the file and not the document holds the present text: the file has changed
// since, or the editor cannot show all of it.
func (o opened) stale() bool { return o.state == diskNewer || o.lossy }

// clean reports whether the document has no unsaved changes.
func (o opened) clean() bool { return o.state == agreeing || o.state == diskNewer }

// present returns the present text: the document's, or the file's if the file is newer.
func (o opened) present() []byte {
	if o.state == diskNewer {
		return o.file
	}
	return o.Text
}

// reading returns the document at p if it holds the text to read. If the file holds it, open is
// false.
func (v *view) reading(ctx context.Context, p place) (o opened, open bool, err error) {
	o, open, err = v.comparedAt(ctx, p)
	return o, open && !o.stale(), err
}

// editable returns the document to edit at p. If the file must be changed on disk, open is false.
// It waits for an editor that reloads late. If document and file have both changed, the error is
// [ErrStale].
func (w *Workspace) editable(ctx context.Context, p place) (o opened, open bool, err error) {
	o, open, err = w.comparedAt(ctx, p)
	if err == nil && open && o.state == diskNewer && !w.editsDisk() {
		o, open, err = w.awaitReload(ctx, p, o)
	}
	switch {
	case err != nil || !open:
		return o, false, err
	case o.state == bothChanged:
		return o, false, w.bothChanged(p)
	case o.lossy, o.clean() && w.editsDisk():
		return o, false, nil
	case o.state == diskNewer && (o.file == nil || !isPlain(o.file)):
		return o, false, nil
	}
	return o, true, nil
}

// isPlain reports whether the bytes of a file are its text in an editor.
func isPlain(file []byte) bool {
	return utf8.Valid(file) && !bytes.HasPrefix(file, []byte("\ufeff")) && textenc.CharsetOf(file) == textenc.CharsetUTF8
}

// awaitReload waits until the editor has reloaded a document.
func (w *Workspace) awaitReload(ctx context.Context, p place, o opened) (_ opened, open bool, err error) {
	limit := reloadLimit
	w.saved.mu.Lock()
	if w.saved.vain {
		limit = vainLimit
	}
	w.saved.mu.Unlock()
	open = true
	done := poll(ctx, limit, func() bool {
		o, open, err = w.comparedAt(ctx, p)
		return err != nil || !open || o.state != diskNewer
	})
	if ctx.Err() != nil {
		return o, open, ctx.Err()
	}
	w.saved.waited(done)
	return o, open, err
}

// poll calls ready until it returns true, or until the limit has passed. It returns the last result.
func poll(ctx context.Context, limit time.Duration, ready func() bool) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-timeout.C:
			return ready()
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (s *scope) bothChanged(p place) error {
	name := s.Name(p.abs())
	return &PathError{Path: name, Text: fmt.Sprintf("%s has unsaved changes in the editor, and the file has changed on disk, too. Nothing was changed; both texts are still there", name), Advice: ". Ask the user to save or reload it, then read it again", Err: ErrStale}
}

// Saving configures how edits of open documents reach the disk.
type Saving struct {
	// Disk writes documents without unsaved changes on disk, if the editor does not save them.
	Disk bool
	// Save lets the editor save documents without unsaved changes before an edit.
	Save bool
}

// SetSaving sets how later edits reach the disk.
func (w *Workspace) SetSaving(s Saving) { w.saving.Store(&s) }

// A Saver is an editor that may save its edited documents.
type Saver interface {
	// SavesEdits reports whether the editor saves a document after an edit, if [Document.Save] is
	// set, or always writes the file.
	SavesEdits() bool
	// SaveFailure returns why the editor did not save the document at path; empty: not known. If
	// final is true, it does not try any more.
	SaveFailure(path string) (why string, final bool)
}

func (w *Workspace) saver() Saver {
	s, _ := w.docs.(Saver)
	if s == nil || !s.SavesEdits() {
		return nil
	}
	return s
}

// editsDisk reports whether documents without unsaved changes are edited on disk.
func (w *Workspace) editsDisk() bool { return w.saving.Load().Disk && w.saver() == nil }
