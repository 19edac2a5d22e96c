package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// settleLimit is how long an edit may take after the editor has confirmed it: to be in the editor
// and, if the editor saves it, on disk.
const settleLimit = 2 * time.Second

// settled is the text after an edit. The editor may have formatted it.
type settled struct {
	text   []byte
	failed *NotSaved // nil: the editor saved it, or did not have to
}

// note says that the editor did not save the edit. If it did, note returns "".
func (s settled) note() string {
	if s.failed == nil {
		return ""
	}
	return s.failed.Error()
}

// putIntoEditor replaces the text of an open document, and waits until it is there. If it is
// neither in the editor nor on disk, it returns an error.
func (w *Workspace) putIntoEditor(ctx context.Context, p place, o opened, text []byte) (settled, error) {
	abs := p.abs()
	if o.file != nil && o.clean() && !w.compared(p, o.Document).sameFile(o) {
		return settled{}, w.staleError(abs, "on disk")
	}
	if bytes.Equal(o.Text, text) { // the document has not been reloaded, and is right already
		now, err := readBefore(p, true)
		if err == nil {
			_, err = w.replaceFile(ctx, p, text, now)
		}
		return settled{text: text}, err
	}
	doc := o.Document
	doc.Save = o.clean() && w.saving.Load().Save
	w.edited.add(abs)
	err := w.docs.Replace(ctx, doc, text)
	var refused *EditRefused
	if errors.As(err, &refused) && w.awaitNotification(ctx, p, doc) {
		if now, open, _ := w.comparedAt(ctx, p); open && bytes.Equal(now.present(), o.present()) {
			doc, o = Document{Path: now.Path, Version: now.Version, Text: now.Text, Save: doc.Save}, now
			err = w.docs.Replace(ctx, doc, text)
		}
	}
	switch {
	case errors.As(err, &refused):
		name := w.Name(abs)
		return settled{}, &PathError{Path: name, Text: fmt.Sprintf("the editor refused the edit of %s: %s. Nothing was changed", name, strings.TrimRight(refused.Reason, ". \n")), Advice: ". Read the file again before the next try", Err: refused}
	case errors.Is(err, ErrStale):
		return settled{}, w.staleError(abs, "in the editor")
	case errors.Is(err, ErrRefused):
		return settled{}, w.refused("write", abs, err)
	case err != nil:
		return settled{}, fmt.Errorf("changing %s in the editor: %w", w.Name(abs), err)
	}
	if o.state == diskNewer {
		w.saved.rebase(abs, o.file)
	}
	return w.settle(context.WithoutCancel(ctx), p, o, text, doc.Save)
}

// awaitNotification waits until the editor has reported the change because of which it refused an
// edit of doc. Editors report changes with a delay. If it does not report any, it returns false.
func (w *Workspace) awaitNotification(ctx context.Context, p place, doc Document) bool {
	return poll(ctx, reloadLimit, func() bool {
		now, open, err := w.document(ctx, p)
		return err != nil || !open || now.Version != doc.Version || !bytes.Equal(now.Text, doc.Text)
	})
}

// sameFile reports whether two comparisons are with the same text on disk.
func (o opened) sameFile(p opened) bool { return bytes.Equal(o.file, p.file) }

// settle waits for the result of a confirmed edit.
func (w *Workspace) settle(ctx context.Context, p place, o opened, text []byte, save bool) (settled, error) {
	var now opened
	var open bool
	onDisk := func() bool { return now.file != nil && equalTexts(text, now.file) }
	arrived := poll(ctx, settleLimit, func() bool {
		var err error
		if now, open, err = w.comparedAt(ctx, p); err != nil || !open {
			open, now = false, w.compared(p, Document{Path: o.Path, Text: text})
		}
		return open && !bytes.Equal(now.Text, o.Text) || onDisk()
	})
	switch {
	case !arrived:
		return settled{}, w.unconfirmed(p)
	case !open || bytes.Equal(now.Text, o.Text) && onDisk():
		return settled{text: text}, nil
	}
	done := settled{text: now.Text}
	saver := w.saver()
	if !save || saver == nil || o.state == unsaved {
		return done, nil
	}
	why, final := saver.SaveFailure(p.abs())
	saved := func() bool { return !open || now.state == agreeing }
	poll(ctx, settleLimit, func() bool {
		if now, open, _ = w.comparedAt(ctx, p); open {
			done.text = now.Text
		}
		return saved() || final
	})
	if !saved() {
		lost := !w.compared(p, o.Document).sameFile(o) // a save that fails can destroy the file
		done.failed = &NotSaved{w.Name(p.abs()), why, lost}
		return done, nil
	}
	return done, w.repair(ctx, p, o, done.text)
}

// unconfirmed is the error for an edit that the editor has confirmed without making it.
func (v *view) unconfirmed(p place) error {
	return fmt.Errorf("the editor has confirmed the edit of %s, but neither the editor nor the disk has the new text; read it again", v.Name(p.abs()))
}

// repair rewrites the file with its earlier encoding and line ends, if an editor that writes files
// itself has saved the edit with others.
func (w *Workspace) repair(ctx context.Context, p place, o opened, text []byte) error {
	if !w.HasUnlistedBuffers() || o.file == nil || bytes.Equal(o.file, o.Text) {
		return nil
	}
	want, ok := encodedLike(o.file, text)
	if !ok {
		return nil
	}
	now, err := readBefore(p, false)
	if err != nil || bytes.Equal(now.text, want) || !equalTexts(text, now.text) {
		return nil // it is as it has to be, or another program has changed it
	}
	_, err = w.replaceFile(ctx, p, want, now)
	return err
}

// encodedLike writes a text in the encoding of a file, with its byte order mark and line ends.
func encodedLike(file, text []byte) (_ []byte, ok bool) {
	charset := textenc.CharsetOf(file)
	decoded := charset.Decode(file)
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if crlf := bytes.Count(decoded, []byte("\r\n")); crlf > 0 && crlf == bytes.Count(decoded, []byte("\n")) {
		text = bytes.ReplaceAll(withoutCR(text), []byte("\n"), []byte("\r\n"))
	}
	if bytes.HasPrefix(decoded, []byte("\ufeff")) {
		text = append([]byte("\ufeff"), text...)
	}
	out, err := charset.EncodeEdit(file, text)
	return out, err == nil && utf8.Valid(text)
}

// equalTexts reports whether a document and the bytes of a file are the same text.
func equalTexts(doc, file []byte) bool {
	equal, lossy := alike(doc, file)
	return equal && !lossy
}

// editedDocuments are the paths of the documents changed in the editor by a session and its
// subagents. It is safe for concurrent use.
type editedDocuments struct {
	mu    sync.Mutex
	paths map[string]bool
}

func (e *editedDocuments) add(abs string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.paths == nil {
		e.paths = map[string]bool{}
	}
	e.paths[abs] = true
}

func (e *editedDocuments) list() (paths []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for path := range e.paths {
		paths = append(paths, path)
	}
	return paths
}

func (e *editedDocuments) has(abs string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.paths[abs]
}

func (e *editedDocuments) remove(abs string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.paths, abs)
}
