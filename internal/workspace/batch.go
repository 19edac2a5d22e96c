package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Action is a change of a [Workspace.Batch]. Change, Text or Remove selects its kind; MoveTo may be
// combined with Change or ChangePresent, or stand alone.
type Action struct {
	Path string
	// Change returns the new text for the old. Batch returns its error unchanged.
	Change func(old []byte) ([]byte, error)
	// ChangePresent is Change of the present text, even if the session has read an older text.
	ChangePresent func(old []byte, since Since) ([]byte, error)
	Text          []byte // of a new file, where nothing is yet; not nil
	Remove        bool
	MoveTo        string // where the file goes; nothing may be there
}

// Batch makes either all changes or none. Each action sees the results of the actions before it.
// Everything is checked before anything is written. If a write fails, the writes before it are
// undone. Batch returns an entry for each changed file. For a removed file, New is nil; for a moved
// file, From is its old path. Open documents are changed in the editor.
func (w *Workspace) Batch(ctx context.Context, actions []Action) ([]*Written, error) {
	return w.BatchIf(ctx, actions, func([]*Written) error { return nil })
}

// BatchIf is [Workspace.Batch], but agree sees the planned result before anything is written. If
// agree returns an error, nothing is written, and BatchIf returns the error. If ctx is canceled between
// two files, the changes before it are undone.
func (w *Workspace) BatchIf(ctx context.Context, actions []Action, agree func(planned []*Written) error) ([]*Written, error) {
	if err := w.writing.lock(ctx); err != nil {
		return nil, err
	}
	defer w.writing.unlock()
	b := &batch{w: w, ctx: ctx, files: map[string]*batchFile{}}
	for _, a := range actions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := b.plan(a); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := agree(b.written()); err != nil {
		return nil, err
	}
	if err := b.run(); err != nil {
		return nil, err
	}
	return b.written(), nil
}

// batch is a plan of changes.
type batch struct {
	w     *Workspace
	ctx   context.Context
	files map[string]*batchFile // by absolute path
	order []*batchFile
	undo  []func() error
	// settled reports each change to the journal. An undone batch reports none: the files are as
	// they were.
	settled []func()
	trash   []func() error // removes the files put aside
}

// batchFile is a file before and after the batch.
type batchFile struct {
	path  string // as it was asked for
	place place
	disk  before
	link  bool    // a symbolic link, which can only be removed
	gone  bool    // and it will be
	doc   *opened // open in the editor
	since Since   // changes since it was read
	note  string  // the editor did not save it
	old   []byte  // the text before, the editor's if it is open; nil: nothing was there
	text  []byte  // the text after; nil: nothing will be there
	from  *batchFile
	moved bool // it went elsewhere
	mode  fs.FileMode
	// refused is why the editor did not show the path, which is missing on disk.
	refused error
}

// plan adds an action to the plan. If it cannot be done, it returns an error.
func (b *batch) plan(a Action) error {
	f, err := b.file(a.Path, a.Remove || a.MoveTo != "")
	if err != nil {
		return err
	}
	if a.Text != nil {
		return b.add(f, a.Text)
	}
	if f.since.Changed && a.ChangePresent == nil {
		where := "on disk"
		if f.doc != nil {
			where = "in the editor"
		}
		return b.w.staleError(f.place.abs(), where)
	}
	if !f.there() && f.refused != nil {
		return f.refused
	}
	if !f.there() {
		return b.w.notFound(b.ctx, a.Path)
	}
	if f.link && !a.Remove {
		return &PathError{Path: a.Path, Text: a.Path + " is a link, which cannot be moved here", Advice: "; move its target, or use a command", Err: ErrNotRegular}
	}
	if a.Remove {
		f.text, f.gone = nil, f.link
		return nil
	}
	var text []byte
	if text, err = a.changed(f); err != nil {
		return err
	}
	if a.MoveTo == "" {
		f.text = text
		return nil
	}
	return b.move(f, a.MoveTo, text)
}

// changed returns the new text of an action.
func (a Action) changed(f *batchFile) (text []byte, err error) {
	switch {
	case a.ChangePresent != nil:
		text, err = a.ChangePresent(f.text, f.since)
	case a.Change != nil:
		text, err = a.Change(f.text)
	default:
		return f.text, nil
	}
	return notNil(text), err
}

func (b *batch) add(f *batchFile, text []byte) error {
	if f.there() || f.link {
		return &PathError{Path: f.path, Text: f.path + " exists already", Advice: ": update it, or delete it first", Err: fs.ErrExist}
	}
	f.text = text
	return nil
}

func (b *batch) move(f *batchFile, to string, text []byte) error {
	target, err := b.file(to, true)
	if err != nil {
		return err
	}
	if target.there() || target.link {
		return &PathError{Path: to, Text: to + " exists already", Advice: "; delete it first, or choose another name", Err: fs.ErrExist}
	}
	target.text, target.from, target.mode = text, f, f.disk.mode()
	f.text, f.moved = nil, true
	return nil
}

// file returns the state of a path in the batch, which it reads once.
func (b *batch) file(path string, itself bool) (*batchFile, error) {
	at := b.w.at
	if itself {
		at = b.w.atLink
	}
	var f *batchFile
	err := at(path, func(p place) error {
		if known, ok := b.files[p.abs()]; ok {
			f = known
			return nil
		}
		var err error
		f, err = b.look(path, p)
		return err
	})
	if err != nil {
		return nil, b.w.explain(b.ctx, "changing", path, err)
	}
	if b.files[f.place.abs()] == nil {
		b.files[f.place.abs()] = f
		b.order = append(b.order, f)
	}
	return f, nil
}

func (b *batch) look(path string, p place) (*batchFile, error) {
	f := &batchFile{path: path, place: p}
	info, err := p.folder.root.Lstat(p.rel)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		f.link = true
		return f, nil
	case err != nil && !missing(err):
		return nil, err
	}
	if f.disk, err = readBefore(p, true); err != nil && !missing(err) {
		return nil, err
	}
	if f.disk.exists() && f.disk.text == nil {
		return nil, &PathError{Path: path, Text: path + " is too large to be changed here", Advice: "; use a command", Err: ErrTooLarge}
	}
	f.old, f.mode = f.disk.text, f.disk.mode()
	doc, open, err := b.w.editable(b.ctx, p)
	if errors.Is(err, errAbsent) {
		f.refused, err = err, nil
	}
	if err != nil {
		return nil, err
	}
	if open {
		f.doc, f.old = &doc, notNil(doc.present())
	}
	if f.old != nil {
		f.since = b.w.since(p.abs(), f.old)
	}
	f.text = f.old
	return f, nil
}

func (b before) mode() fs.FileMode {
	if b.info == nil {
		return 0
	}
	return b.info.Mode().Perm()
}

// there reports whether something is at the path, as far as is planned.
func (f *batchFile) there() bool { return f.text != nil || f.link && !f.gone }

func (f *batchFile) changed() bool {
	return f.gone || (f.old == nil) != (f.text == nil) || !bytes.Equal(f.old, f.text)
}

// run makes the planned changes: files first, then open documents, then removals, which are put
// aside until all else is done.
func (b *batch) run() error {
	for _, phase := range []func(*batchFile) error{b.writeFile, b.changeDocument, b.putAside} {
		for _, f := range b.order {
			err := b.ctx.Err()
			if err == nil {
				err = phase(f)
			}
			if err != nil {
				return b.undoAll(b.w.explain(b.ctx, "changing", f.path, err))
			}
		}
	}
	for _, tell := range b.settled {
		tell()
	}
	for _, remove := range b.trash {
		_ = remove() // a remaining file has a temporary name
	}
	for _, f := range b.order {
		switch {
		case f.text != nil && f.changed():
			b.w.remember(f.place.abs(), f.text)
		case f.text == nil && f.old != nil:
			b.w.forget(f.place.abs())
		}
	}
	return nil
}

func (b *batch) writeFile(f *batchFile) error {
	if f.text == nil || f.doc != nil || !f.changed() {
		return nil
	}
	gone := missingFolders(f.place)
	old := fileImage(f.disk.text, f.disk.info)
	noted := b.w.note(f.place, old)
	if _, err := b.w.replaceFile(b.ctx, f.place, f.text, f.disk); err != nil {
		noted(old)
		return err
	}
	b.settled = append(b.settled, func() { noted(Image{Text: f.text, Size: int64(len(f.text))}) })
	b.undo = append(b.undo, func() error { return b.restore(f, gone) })
	if f.mode != 0 && f.mode != f.disk.mode() {
		if err := f.place.folder.root.Chmod(f.place.rel, f.mode); !missing(err) { // the editor may not have saved it yet
			return err
		}
	}
	return nil
}

// missingFolders lists the missing folders above p, outermost first.
func missingFolders(p place) (gone []string) {
	for at := filepath.Dir(p.rel); at != "."; at = filepath.Dir(at) {
		if _, err := p.folder.root.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		gone = append([]string{at}, gone...)
	}
	return gone
}

// restore undoes a write of writeFile, unless the file has changed since.
func (b *batch) restore(f *batchFile, made []string) error {
	now, err := readBefore(f.place, false)
	if err != nil {
		return err
	}
	if !bytes.Equal(now.text, f.text) {
		return errors.New("it was changed meanwhile")
	}
	if f.disk.exists() {
		_, err = b.w.replaceFile(context.WithoutCancel(b.ctx), f.place, f.disk.text, now)
		return err
	}
	if err := f.place.folder.root.Remove(f.place.rel); err != nil {
		return err
	}
	removeFolders(f.place.folder.root, made)
	return nil
}

func (b *batch) changeDocument(f *batchFile) error {
	if f.text == nil || f.doc == nil || !f.changed() {
		return nil
	}
	written, err := b.w.replaceDocument(b.ctx, f.place, *f.doc, update{change: func([]byte, Since) ([]byte, error) { return f.text, nil }})
	if err != nil {
		return err
	}
	f.note = written.Note
	b.undo = append(b.undo, func() error {
		ctx := context.WithoutCancel(b.ctx)
		o, open, err := b.w.comparedAt(ctx, f.place)
		if err != nil {
			return err
		}
		if !open || !bytes.Equal(o.present(), written.New) {
			return errors.New("it was changed meanwhile")
		}
		_, err = b.w.replaceDocument(ctx, f.place, o, update{change: func([]byte, Since) ([]byte, error) { return f.old, nil }})
		return err
	})
	return nil
}

// putAside renames a file to be removed, so it can be restored.
func (b *batch) putAside(f *batchFile) error {
	if f.text != nil || f.old == nil && !f.gone {
		return nil
	}
	root, rel := f.place.folder.root, f.place.rel
	now, err := root.Lstat(rel)
	if err != nil && (f.doc == nil || !missing(err)) {
		return err
	}
	if f.disk.exists() && (err != nil || !sameStat(now, f.disk.info)) {
		return b.w.staleError(f.place.abs(), "on disk")
	}
	old := fileImage(f.disk.text, f.disk.info)
	if f.link {
		if old, err = lookOnDisk(f.place); err != nil {
			return err
		}
	}
	noted := b.w.note(f.place, old)
	temp := tempName()
	aside, done := filepath.Join(filepath.Dir(rel), temp), b.w.noteTemp(f.place, temp, rel)
	was := old
	if f.doc != nil {
		was = openImage(f.doc.Text)
	}
	renamed := false
	writeBack, err := b.w.remove(b.ctx, f.place, was, func() error {
		err := root.Rename(rel, aside)
		renamed = err == nil
		return err
	})
	if err != nil {
		noted(old)
		done()
		return err
	}
	b.settled = append(b.settled, func() { noted(NoImage) })
	b.undo = append(b.undo, writeBack)
	if !renamed {
		done()
		return nil
	}
	b.undo = append(b.undo, func() error {
		defer done()
		return root.Rename(aside, rel)
	})
	final := func() {}
	b.settled = append(b.settled, func() { final = b.w.noteTemp(f.place, temp, "") }) // from now on it is not restored
	b.trash = append(b.trash, func() error {
		defer done()
		defer final()
		return root.Remove(aside)
	})
	return nil
}

// undoAll undoes the changes, the last first. Its error contains failure, and mentions each change
// that could not be undone.
func (b *batch) undoAll(failure error) error {
	var stuck []error
	for _, undo := range slices.Backward(b.undo) {
		if err := undo(); err != nil {
			stuck = append(stuck, plain(err))
		}
	}
	if len(stuck) > 0 {
		return fmt.Errorf("%w. Changes made before that could not all be undone (%v): check the files", failure, errors.Join(stuck...))
	}
	if len(b.undo) > 0 {
		return fmt.Errorf("%w. The changes made before that were undone", failure)
	}
	return failure
}

func (b *batch) written() []*Written {
	var all []*Written
	for _, f := range b.order {
		if !f.changed() || f.moved && f.text == nil {
			continue
		}
		abs := f.place.abs()
		x := &Written{Path: abs, Name: b.w.Name(abs), Old: f.old, New: f.text, Created: f.old == nil, Open: f.doc != nil, Note: f.note}
		if f.gone {
			x.Old, x.Created = []byte{}, false
		}
		if f.from != nil && f.old == nil {
			x.Old, x.Created, x.From = f.from.old, false, b.w.Name(f.from.place.abs())
		}
		all = append(all, x)
	}
	return all
}
