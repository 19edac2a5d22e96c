package workspace

import (
	"context"
	"path/filepath"
)

// Fork opens the same folders and documents for another session, such as a subagent's. The fork
// remembers separately which texts it has read.
func (w *Workspace) Fork() (*Workspace, error) {
	var names []string
	for _, f := range w.current() {
		names = append(names, f.given)
	}
	forked, err := w.fork(names, w.docs)
	if err == nil {
		forked.Journal, forked.Wrote, forked.Earlier, forked.saved, forked.edited = w.Journal, w.Wrote, w.Earlier, w.saved, w.edited
	}
	return forked, err
}

// ForkIn is Fork in a copy of the first folder, alone and without documents: the editor does not
// know the copy. If the editor does not list its open documents, files it refuses to read are
// refused in the copy, too.
func (w *Workspace) ForkIn(folder string) (*Workspace, error) {
	if !w.HasUnlistedBuffers() {
		return w.fork([]string{folder}, nil)
	}
	return w.fork([]string{folder}, copied{w, folder})
}

// copied are the documents of a copy of a workspace's first folder.
type copied struct {
	of   *Workspace
	copy string
}

// Get finds no document. If the editor refuses to read the file of which the file at
// path is a copy, it returns [ErrRefused].
func (c copied) Get(ctx context.Context, path string) (Document, bool, error) {
	p, err := c.original(path)
	if err != nil {
		return Document{}, false, nil
	}
	_, _, err = c.of.document(ctx, p)
	return Document{}, false, err
}

// original returns where the file lies of which the file at path is a copy. If there is
// none, it returns [ErrNotFound].
func (c copied) original(path string) (place, error) {
	rel, ok := below(c.copy, path)
	if !ok {
		return place{}, ErrNotFound
	}
	p, err := c.of.locate(filepath.Join(c.of.Folders()[0], rel))
	if err == nil && p.absent() {
		err = ErrNotFound // a file of the copy alone
	}
	return p, err
}

// Replace is not called: there are no documents.
func (c copied) Replace(context.Context, Document, []byte) error { return ErrNotOpen }

// Write leaves the copy to the disk.
func (c copied) Write(context.Context, string, []byte, bool) (bool, error) { return false, nil }

// Paths is empty, and not nil: nothing is open.
func (c copied) Paths() []string { return []string{} }

func (w *Workspace) fork(folders []string, docs Documents) (*Workspace, error) {
	forked, err := Open(folders, docs)
	if err != nil {
		return nil, err
	}
	forked.Ripgrep, forked.Unfinished = w.Ripgrep, w.Unfinished
	forked.priorityGate, forked.refusals = w.priorityGate, w.refusals
	forked.saving.Store(w.saving.Load())
	return forked, nil
}
