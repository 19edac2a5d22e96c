package backend

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/pkg/sftp"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Batch makes all changes or, if a change fails, none; see [workspace.Workspace.Batch].
func (f *Files) Batch(ctx context.Context, actions []workspace.Action) ([]*workspace.Written, error) {
	return f.BatchIf(ctx, actions, func([]*workspace.Written) error { return nil })
}

// BatchIf is [Files.Batch] if agree accepts the planned changes; see [workspace.Workspace.BatchIf].
func (f *Files) BatchIf(ctx context.Context, actions []workspace.Action, agree func([]*workspace.Written) error) ([]*workspace.Written, error) {
	unlock, err := f.lockWrites(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	b := &batch{files: f, known: map[string]*batchFile{}}
	for _, a := range actions {
		var refused error // from the caller's function
		err := f.at(ctx, "changing", a.Path, func(c *sftp.Client, p string) (err error) {
			refused, err = b.plan(c, p, a)
			return err
		})
		if err = errors.Join(refused, err); err != nil {
			return nil, err
		}
	}
	if err := agree(b.written()); err != nil {
		return nil, err
	}
	err = f.at(ctx, "changing", ".", func(c *sftp.Client, _ string) error { return b.run(c) })
	if err != nil {
		return nil, err
	}
	return b.written(), nil
}

type batch struct {
	files *Files
	known map[string]*batchFile
	order []*batchFile
	undo  []func() error
	trash []string
}

// batchFile is a file before and after the batch.
type batchFile struct {
	path     string
	info     fs.FileInfo // nil: nothing is there
	old, new []byte      // nil: nothing
	from     *batchFile
	stale    error // it has changed since it was read
}

func (b *batch) look(c *sftp.Client, name, p string) (*batchFile, error) {
	if known := b.known[p]; known != nil {
		return known, nil
	}
	file := &batchFile{path: p}
	text, info, err := readWhole(c, name, p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		file.stale = b.files.known(p, text)
		file.info, file.old, file.new = info, text, text
	}
	b.known[p] = file
	b.order = append(b.order, file)
	return file, nil
}

// plan records an action, or rejects it.
func (b *batch) plan(c *sftp.Client, p string, a workspace.Action) (refused, err error) {
	file, err := b.look(c, a.Path, p)
	if err != nil {
		return nil, err
	}
	if a.Text != nil {
		if file.new != nil {
			return nil, &workspace.PathError{Path: a.Path, Text: a.Path + " exists already", Advice: ": update it, or delete it first", Err: fs.ErrExist}
		}
		file.new = a.Text
		return nil, nil
	}
	if file.stale != nil && a.ChangePresent == nil {
		return nil, file.stale
	}
	if file.new == nil {
		return nil, fs.ErrNotExist
	}
	if a.Remove {
		file.new = nil
		return nil, nil
	}
	text := file.new
	switch {
	case a.ChangePresent != nil:
		text, err = a.ChangePresent(text, workspace.Since{Changed: file.stale != nil})
	case a.Change != nil:
		text, err = a.Change(text)
	}
	if err != nil {
		return err, nil
	}
	text = append([]byte{}, text...)
	if a.MoveTo == "" {
		file.new = text
		return nil, nil
	}
	to, err := b.files.locate(c, a.MoveTo)
	if err != nil {
		return nil, err
	}
	target, err := b.look(c, a.MoveTo, to)
	if err != nil {
		return nil, err
	}
	if target.new != nil {
		return nil, &workspace.PathError{Path: a.MoveTo, Text: a.MoveTo + " exists already", Advice: "; delete it first, or choose another name", Err: fs.ErrExist}
	}
	target.new, target.from, file.new = text, file, nil
	return nil, nil
}

// run writes, then removes. If a step fails, run reverts the earlier steps.
func (b *batch) run(c *sftp.Client) error {
	for _, step := range []func(*sftp.Client, *batchFile) error{b.write, b.moveToTrash} {
		for _, file := range b.order {
			if err := step(c, file); err != nil {
				return b.undoAll(err)
			}
		}
	}
	for _, p := range b.trash {
		_ = c.Remove(p) // it has a name of ours, and hides nothing
	}
	for _, file := range b.order {
		if file.new != nil {
			b.files.remember(file.path, file.new)
		} else {
			b.files.mu.Lock()
			delete(b.files.seen, file.path)
			b.files.mu.Unlock()
		}
	}
	return nil
}

func (b *batch) write(c *sftp.Client, file *batchFile) error {
	if file.new == nil || file.old != nil && bytes.Equal(file.old, file.new) {
		return nil
	}
	if file.info == nil {
		if err := c.MkdirAll(path.Dir(file.path)); err != nil {
			return fmt.Errorf("making the folder %s: %w", path.Dir(file.path), err)
		}
	}
	if err := b.files.replace(c, file.path, file.new, file.info); err != nil {
		return err
	}
	b.undo = append(b.undo, func() error {
		if file.info == nil {
			return c.Remove(file.path)
		}
		now, err := c.Lstat(file.path)
		if err != nil {
			return err
		}
		return b.files.replace(c, file.path, file.old, now)
	})
	if file.from != nil && file.from.info != nil {
		return c.Chmod(file.path, file.from.info.Mode().Perm())
	}
	return nil
}

func (b *batch) moveToTrash(c *sftp.Client, file *batchFile) error {
	if file.new != nil || file.old == nil {
		return nil
	}
	aside := path.Join(path.Dir(file.path), ".hermes-"+rand.Text()[:12]+".tmp")
	if err := c.PosixRename(file.path, aside); err != nil {
		return err
	}
	b.undo = append(b.undo, func() error { return c.PosixRename(aside, file.path) })
	b.trash = append(b.trash, aside)
	return nil
}

func (b *batch) undoAll(failure error) error {
	var stuck []error
	for _, undo := range slices.Backward(b.undo) {
		if err := undo(); err != nil {
			stuck = append(stuck, err)
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

func (b *batch) written() (all []*workspace.Written) {
	for _, file := range b.order {
		moved := slices.ContainsFunc(b.order, func(o *batchFile) bool { return o.from == file })
		if file.new == nil && (file.old == nil || moved) || file.old != nil && file.new != nil && bytes.Equal(file.old, file.new) {
			continue
		}
		w := &workspace.Written{Path: file.path, Name: b.files.Name(file.path), Old: file.old, New: file.new, Created: file.old == nil}
		if file.from != nil && file.old == nil {
			w.Old, w.Created, w.From = file.from.old, false, b.files.Name(file.from.path)
		}
		all = append(all, w)
	}
	return all
}
