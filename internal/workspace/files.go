package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Stat describes the file at path. It follows a link inside the folders.
func (d *disk) Stat(ctx context.Context, path string) (info fs.FileInfo, err error) {
	err = d.at(path, func(p place) error {
		info, err = p.folder.root.Stat(p.rel)
		return err
	})
	if err != nil {
		return nil, d.explain(ctx, "looking at", path, err)
	}
	return info, nil
}

// List lists the folder dir, by name.
func (d *disk) List(ctx context.Context, dir string) (entries []fs.DirEntry, err error) {
	err = d.at(dir, func(p place) error {
		f, err := p.folder.root.OpenFile(p.rel, safefile.Flags, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return &PathError{Path: dir, Text: dir + " is not a folder", Err: fs.ErrInvalid}
		}
		entries, err = f.ReadDir(-1)
		return err
	})
	if err != nil {
		return nil, d.explain(ctx, "listing", dir, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Remove deletes the file at path; a link is deleted itself. If the file has changed since this
// session read it, the error is [ErrStale]. An open document stays open in the editor. If the
// editor refuses to read or write the file, it refuses the deletion, too.
func (w *Workspace) Remove(ctx context.Context, path string) error {
	if err := w.writing.lock(ctx); err != nil {
		return err
	}
	defer w.writing.unlock()
	err := w.atLink(path, func(p place) error {
		open, err := w.movable(ctx, p)
		if err != nil {
			return err
		}
		old, err := lookOnDisk(p)
		if err != nil {
			return err
		}
		was := old
		if open != nil {
			was = openImage(open.Text)
		}
		noted := w.note(p, old)
		if _, err := w.remove(ctx, p, was, func() error { return p.folder.root.Remove(p.rel) }); err != nil {
			noted(old)
			return err
		}
		noted(NoImage)
		w.forget(p.abs())
		return nil
	})
	if err != nil {
		return w.explain(ctx, "removing", path, err)
	}
	return nil
}

// Rename moves the file from to a place where nothing is yet; parents are made.
// Of an open document, the text in the editor moves. A link is moved itself.
func (w *Workspace) Rename(ctx context.Context, from, to string) error {
	if err := w.writing.lock(ctx); err != nil {
		return err
	}
	defer w.writing.unlock()
	err := w.atLink(from, func(p place) error {
		open, err := w.movable(ctx, p)
		if err != nil {
			return err
		}
		return w.atLink(to, func(q place) error {
			if err := w.checkAbsent(ctx, to, q); err != nil {
				return err
			}
			old, err := lookOnDisk(p)
			if err != nil {
				return err
			}
			from, into := w.note(p, old), w.Journal.note(q, NoImage)
			if err := w.move(ctx, p, q, open); err != nil {
				from(old)
				into(NoImage)
				return err
			}
			now, err := lookOnDisk(q)
			if err != nil {
				now = old
			}
			from(NoImage)
			into(now)
			w.wrote(q, NoImage, old) // not now: the file may have changed since
			return nil
		})
	})
	if err != nil {
		return w.explain(ctx, "moving", from, err)
	}
	return nil
}

// movable returns an error unless p is a file or a link in the state known to the session. It
// returns the open document there, if any.
func (w *Workspace) movable(ctx context.Context, p place) (*Document, error) {
	info, err := p.folder.root.Lstat(p.rel)
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil, nil
	}
	if !info.Mode().IsRegular() {
		return nil, &safefile.KindError{Mode: info.Mode()}
	}
	o, open, err := w.editable(ctx, p)
	if err != nil {
		return nil, err
	}
	if open {
		doc := o.Document
		doc.Text = o.present()
		if w.since(p.abs(), doc.Text).Changed {
			return nil, w.staleError(p.abs(), "in the editor")
		}
		return &doc, nil
	}
	before, err := readBefore(p, true)
	if err != nil {
		return nil, err
	}
	if before.exists() && !w.knows(p.abs(), before) {
		return nil, w.staleError(p.abs(), "on disk")
	}
	return nil, nil
}

// checkAbsent returns an error if anything is at q, on the disk or in the editor.
func (v *view) checkAbsent(ctx context.Context, path string, q place) error {
	_, err := q.folder.root.Lstat(q.rel)
	_, open, docErr := v.document(ctx, q)
	switch {
	case docErr != nil:
		return docErr
	case err == nil || open:
		return &PathError{Path: path, Text: fmt.Sprintf("%s exists already; remove it first, or choose another name", path), Err: fs.ErrExist}
	case missing(err):
		return nil
	}
	return err
}

// move takes the file, or the text of the document open there, from p to q.
func (w *Workspace) move(ctx context.Context, p, q place, open *Document) (err error) {
	if open == nil && p.folder == q.folder && !w.HasUnlistedBuffers() {
		if err := w.moveFile(p, q); !errors.Is(err, syscall.EXDEV) {
			return err
		} // to another mount
	}
	var text []byte
	if open != nil {
		text = open.Text
	} else if before, err := readBefore(p, false); err != nil {
		return err
	} else {
		text = before.text
	}
	info, err := p.folder.root.Lstat(p.rel)
	if err != nil {
		return err
	}
	after, err := w.replaceFile(ctx, q, text, before{})
	if err != nil {
		return err
	}
	if err := q.folder.root.Chmod(q.rel, info.Mode().Perm()); err != nil && !missing(err) {
		return err
	}
	if _, err := w.remove(ctx, p, openImage(text), func() error { return p.folder.root.Remove(p.rel) }); err != nil {
		return err
	}
	w.forget(p.abs())
	w.rememberWritten(q.abs(), text, after)
	return nil
}

func (w *Workspace) moveFile(p, q place) error {
	dir, made, err := openParent(q)
	if err == nil {
		dir.Close()
		err = p.folder.root.Rename(p.rel, q.rel)
	}
	if err != nil {
		removeFolders(p.folder.root, made)
		return err
	}
	w.moved(p.abs(), q.abs())
	return nil
}
