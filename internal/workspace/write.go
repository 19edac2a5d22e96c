package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Written is the result of a write.
type Written struct {
	Path    string // absolute
	Name    string // as the model says it
	Created bool   // there was nothing before
	Old     []byte // the text before; nil when there was none, or over 64 MiB of it
	New     []byte // the text now; nil only for a file removed by a batch
	From    string // for the model: where a batch has moved it from, with the text Old
	Open    bool   // the editor has it open: Old and New are its buffer
	Note    string // for the model and the user: the editor did not save it; empty: it did, or need not
}

// change makes the new text from the old.
type change func(old []byte, since Since) ([]byte, error)

// Write makes text the whole content of path, which is created with its parents if it does not
// exist. An open document is changed in the editor; a file is replaced atomically and keeps its
// mode. If the text has changed since this session read or wrote it, the error is [ErrStale].
func (w *Workspace) Write(ctx context.Context, path string, text []byte) (*Written, error) {
	if text == nil {
		text = []byte{}
	}
	return w.update(ctx, path, update{
		change: func([]byte, Since) ([]byte, error) { return text, nil },
		whole:  true,
	})
}

// Edit changes the text at path, which must exist. Staleness is as for
// [Workspace.Write] and found before change is called. When the editor's buffer
// moves during the edit, change is called a second time with the newer text; when
// it moves again, the edit is [ErrStale]. An error of change is returned as it is,
// and nothing is written.
func (w *Workspace) Edit(ctx context.Context, path string, change func(old []byte) ([]byte, error)) (*Written, error) {
	return w.update(ctx, path, update{change: func(old []byte, _ Since) ([]byte, error) { return change(old) }})
}

// EditPresent is [Workspace.Edit] of the present text, also if it has changed since the session
// has read it. change decides whether it still applies.
func (w *Workspace) EditPresent(ctx context.Context, path string, change func(old []byte, since Since) ([]byte, error)) (*Written, error) {
	return w.update(ctx, path, update{change: change, present: true})
}

type update struct {
	change  change
	whole   bool // the old text does not matter: it may be missing or too large
	present bool // a text changed since it was read is not stale
}

func (w *Workspace) update(ctx context.Context, path string, u update) (*Written, error) {
	if err := w.writing.lock(ctx); err != nil {
		return nil, err
	}
	defer w.writing.unlock()
	p, err := w.locate(path)
	if err != nil {
		return nil, err
	}
	o, open, err := w.editable(ctx, p)
	if err != nil && (!u.whole || !errors.Is(err, errAbsent)) {
		return nil, err
	}
	var written *Written
	if open {
		written, err = w.updateDocument(ctx, p, o, u)
	} else {
		written, err = w.updateFile(ctx, path, u)
	}
	if err != nil {
		return nil, err
	}
	written.Name = w.Name(written.Path)
	return written, nil
}

// writeLock has capacity 1, so writes run one after another. It is a channel and not a mutex, so a
// canceled caller does not wait.
type writeLock chan struct{}

func (l writeLock) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l writeLock) unlock() { <-l }

// updateDocument changes an open document through the editor.
func (w *Workspace) updateDocument(ctx context.Context, p place, o opened, u update) (*Written, error) {
	abs := p.abs()
	if !u.present && w.since(abs, o.present()).Changed {
		return nil, w.staleError(abs, "in the editor")
	}
	written, err := w.replaceDocument(ctx, p, o, u)
	if u.whole || !errors.Is(err, ErrStale) {
		return written, err
	}
	// The buffer moved between our look and the edit: once more on the newer text.
	o, open, err := w.editable(ctx, p)
	if err != nil {
		return nil, err
	}
	if !open {
		return nil, w.staleError(abs, "in the editor")
	}
	return w.replaceDocument(ctx, p, o, u)
}

// replaceDocument makes the change of the present text, and puts the result into the editor.
func (w *Workspace) replaceDocument(ctx context.Context, p place, o opened, u update) (*Written, error) {
	abs, old := p.abs(), o.present()
	text, err := u.change(old, w.since(abs, old))
	if err != nil {
		return nil, err
	}
	written := &Written{Path: abs, Old: notNil(old), New: notNil(text), Open: true}
	if bytes.Equal(text, old) {
		w.remember(abs, text)
		return written, nil
	}
	after := w.Journal.note(p, openImage(written.Old))
	settled, err := w.putIntoEditor(ctx, p, o, written.New)
	if err != nil {
		after(openImage(written.Old))
		return nil, err
	}
	after(openImage(settled.text))
	w.wrote(p, openImage(written.Old), openImage(text)) // the settled text may come from another program
	written.New, written.Note = settled.text, settled.note()
	w.remember(abs, text)
	return written, nil
}

// notNil returns text, or an empty text if it is nil: nil means a missing file.
func notNil(text []byte) []byte {
	if text == nil {
		return []byte{}
	}
	return text
}

func (s *scope) staleError(abs, where string) error {
	name := s.Name(abs)
	return &PathError{Path: name, Text: fmt.Sprintf("%s has changed %s since it was read", name, where), Advice: "; read it again", Err: ErrStale}
}

// updateFile changes a file on the disk.
func (w *Workspace) updateFile(ctx context.Context, path string, u update) (written *Written, err error) {
	var fromChange error // from the caller's function: returned unchanged
	err = w.at(path, func(p place) error {
		before, err := readBefore(p, u.whole)
		if err != nil {
			return err
		}
		if before.exists() && !u.present && !w.knows(p.abs(), before) {
			return w.staleError(p.abs(), "on disk")
		}
		var since Since
		if before.text != nil {
			since = w.since(p.abs(), before.text)
		}
		text, err := u.change(before.text, since)
		if err != nil {
			fromChange = err
			return nil
		}
		if text == nil {
			text = []byte{}
		}
		old := fileImage(before.text, before.info)
		noted := w.note(p, old)
		after, err := w.replaceFile(ctx, p, text, before)
		if err != nil {
			noted(old)
			return err
		}
		noted(Image{Text: text, Size: int64(len(text))})
		w.rememberWritten(p.abs(), text, after)
		written = &Written{Path: p.abs(), Created: !before.exists(), Old: before.text, New: text}
		return nil
	})
	switch {
	case fromChange != nil:
		return nil, fromChange
	case errors.Is(err, ErrTooLarge):
		return nil, &PathError{Path: path, Text: fmt.Sprintf("%s is too large to be edited here (the limit is %d MiB)", path, MaxWhole>>20), Advice: "; change it with a command", Err: ErrTooLarge}
	case u.whole && missing(err):
		if errors.Is(err, syscall.ENOTDIR) {
			return nil, &PathError{Path: path, Text: fmt.Sprintf("%s was not written: a part of its path is a file, not a folder", path), Advice: ". Use another path", Err: err}
		}
		return nil, diskError("writing", path, err)
	case err != nil:
		return nil, w.explain(ctx, "writing", path, err)
	}
	return written, nil
}

// before is the file replaced by a write.
type before struct {
	text  []byte      // nil if there is no file, or it is too large to be held
	info  fs.FileInfo // nil when there is no file
	stamp stamp
}

func (b before) exists() bool { return b.info != nil }

// readBefore reads the file to be replaced. If whole is set, the file may be missing or too large
// to be read.
func readBefore(p place, whole bool) (before, error) {
	f, info, err := safefile.OpenIn(p.folder.root, p.rel)
	if whole && errors.Is(err, fs.ErrNotExist) {
		return before{}, nil
	}
	if err != nil {
		return before{}, err
	}
	defer f.Close()
	text, err := readAll(f, info.Size())
	if whole && errors.Is(err, ErrTooLarge) {
		return before{info: info, stamp: stamp{info: info}}, nil
	}
	if err != nil {
		return before{}, err
	}
	return before{text: text, info: info, stamp: stampOf(text)}, nil
}
