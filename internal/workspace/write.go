package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Written is the result of a write.
type Written struct {
	Path    string // absolute
	Name    string // as the model says it
	Created bool   // there was nothing before
	Old     []byte // the text before; nil when there was none, or over 64 MiB of it
	New     []byte // the text now; nil only for a file that a batch has removed
	From    string // as the model says it: where a batch has moved it from, with the text Old
	Open    bool   // the editor has it open: Old and New are its buffer, not yet saved
}

// change makes the new text from the old.
type change func(old []byte) ([]byte, error)

// Write makes text the whole content of path, which is created with its parents
// if it does not exist. An open document is changed in the editor; a file is
// replaced atomically and keeps its mode. A text that this session has read or
// written and that has changed since is [ErrStale].
func (w *Workspace) Write(ctx context.Context, path string, text []byte) (*Written, error) {
	if text == nil {
		text = []byte{}
	}
	return w.update(ctx, path, update{
		change: func([]byte) ([]byte, error) { return text, nil },
		whole:  true,
	})
}

// Edit changes the text at path, which must exist. Staleness is as for
// [Workspace.Write] and found before change is called. When the editor's buffer
// moves during the edit, change is called a second time with the newer text; when
// it moves again, the edit is [ErrStale]. An error of change is returned as it is,
// and nothing is written.
func (w *Workspace) Edit(ctx context.Context, path string, change func(old []byte) ([]byte, error)) (*Written, error) {
	return w.update(ctx, path, update{change: change})
}

type update struct {
	change change
	whole  bool // the old text does not matter: it may be missing or too large
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
	doc, open, err := w.document(ctx, p)
	if err != nil && (!u.whole || !errors.Is(err, errAbsent)) {
		return nil, err
	}
	var written *Written
	if open {
		written, err = w.updateDocument(ctx, p, doc, u)
	} else {
		written, err = w.updateFile(ctx, path, u)
	}
	if err != nil {
		return nil, err
	}
	written.Name = w.Name(written.Path)
	return written, nil
}

// writeLock has one place, so that writes run one after another. It is a channel and not a
// mutex, so that a caller that is canceled does not wait.
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
func (w *Workspace) updateDocument(ctx context.Context, p place, doc Document, u update) (*Written, error) {
	abs := p.abs()
	if !w.known(abs, stampOf(doc.Text)) {
		return nil, w.staleError(abs, "in the editor")
	}
	written, err := w.replaceDocument(ctx, p, doc, u)
	if u.whole || !errors.Is(err, ErrStale) {
		return written, err
	}
	// The buffer moved between our look and the edit: once more on the newer text.
	doc, open, err := w.get(ctx, doc.Path)
	if err != nil {
		return nil, err
	}
	if !open {
		return nil, w.staleError(abs, "in the editor")
	}
	return w.replaceDocument(ctx, p, doc, u)
}

func (w *Workspace) replaceDocument(ctx context.Context, p place, doc Document, u update) (*Written, error) {
	abs := p.abs()
	text, err := u.change(doc.Text)
	if err != nil {
		return nil, err
	}
	old := doc.Text
	if old == nil {
		old = []byte{}
	}
	if text == nil {
		text = []byte{}
	}
	if !slices.Equal(text, old) {
		after := w.Journal.note(p, openImage(old))
		err := w.docs.Replace(ctx, doc, text)
		if err != nil {
			after(openImage(old))
		} else {
			after(openImage(text))
		}
		switch {
		case errors.Is(err, ErrStale):
			return nil, w.staleError(abs, "in the editor")
		case errors.Is(err, ErrRefused):
			return nil, w.refused("write", abs, err)
		case err != nil:
			return nil, fmt.Errorf("changing %s in the editor: %w", w.Name(abs), err)
		}
	}
	w.remember(abs, stampOf(text))
	return &Written{Path: abs, Old: old, New: text, Open: true}, nil
}

func (s *scope) staleError(abs, where string) error {
	name := s.Name(abs)
	return &PathError{name, fmt.Sprintf("%s has changed %s since it was read; read it again", name, where), ErrStale}
}

// updateFile changes a file on the disk.
func (w *Workspace) updateFile(ctx context.Context, path string, u update) (written *Written, err error) {
	var fromChange error // said by the caller's function: not ours to reword
	err = w.at(path, func(p place) error {
		before, err := readBefore(p, u.whole)
		if err != nil {
			return err
		}
		if before.exists() && !w.known(p.abs(), before.stamp) {
			return w.staleError(p.abs(), "on disk")
		}
		text, err := u.change(before.text)
		if err != nil {
			fromChange = err
			return nil
		}
		if text == nil {
			text = []byte{}
		}
		old := fileImage(before.text, before.info)
		noted := w.Journal.note(p, old)
		after, err := w.replaceFile(ctx, p, text, before)
		if err != nil {
			noted(old)
			return err
		}
		noted(Image{Text: text, Size: int64(len(text))})
		w.remember(p.abs(), after)
		written = &Written{Path: p.abs(), Created: !before.exists(), Old: before.text, New: text}
		return nil
	})
	switch {
	case fromChange != nil:
		return nil, fromChange
	case errors.Is(err, ErrTooLarge):
		return nil, &PathError{path, fmt.Sprintf("%s is too large to be edited here (the limit is %d MiB); change it with a command", path, MaxWhole>>20), ErrTooLarge}
	case u.whole && missing(err):
		return nil, &PathError{path, fmt.Sprintf("writing %s: %v", path, plain(err)), err}
	case err != nil:
		return nil, w.explain(ctx, "writing", path, err)
	}
	return written, nil
}

// before is the file that a write replaces.
type before struct {
	text  []byte      // nil when there is no file, or one too large to be held
	info  fs.FileInfo // nil when there is no file
	stamp stamp
}

func (b before) exists() bool { return b.info != nil }

// readBefore reads the file that will be replaced. If whole is set, no file is
// fine, and one too large to be read is too.
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
