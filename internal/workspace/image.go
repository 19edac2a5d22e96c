package workspace

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// Image is the state of a path: a file with its text, a link, a folder, or nothing.
type Image struct {
	Mode fs.FileMode // type and permissions; ModeIrregular: nothing is there
	Text []byte      // of a file; nil when it is too large to be held
	Link string      // where a link leads
	Size int64       // of a file
	Open bool        // Text is the editor's; the disk may differ
}

// NoImage is the image of nothing.
var NoImage = Image{Mode: fs.ModeIrregular}

// There reports whether the image is of something.
func (i Image) There() bool { return i.Mode != fs.ModeIrregular }

// fileImage is the image of a file on the disk.
func fileImage(text []byte, info fs.FileInfo) Image {
	if info == nil {
		return NoImage
	}
	return Image{Mode: info.Mode().Perm(), Text: text, Size: info.Size()}
}

func openImage(text []byte) Image {
	if text == nil {
		text = []byte{}
	}
	return Image{Text: text, Size: int64(len(text)), Open: true}
}

// A Journal is called before each change by a workspace, with the image at an absolute path. The
// returned function is called after the change, with the new image; if the change has failed, with
// the old image. The change waits for both.
type Journal func(path string, old Image) (after func(now Image))

// note reports a change at p, and the folders to be made for it, to the journal.
func (j Journal) note(p place, old Image) (after func(now Image)) {
	if j == nil {
		return func(Image) {}
	}
	var folders []func(Image)
	if !old.There() {
		for _, rel := range missingFolders(p) {
			folders = append(folders, j(filepath.Join(p.folder.path, rel), NoImage))
		}
	}
	noted := j(p.abs(), old)
	return func(now Image) {
		for _, f := range folders {
			f(Image{Mode: fs.ModeDir | 0o755})
		}
		if now.There() && !now.Open && now.Mode.IsRegular() {
			if info, err := p.folder.root.Lstat(p.rel); err == nil {
				now.Mode = info.Mode().Perm()
			}
		}
		noted(now)
	}
}

// note is [Journal.note], and also reports the change to Wrote if it was made.
func (w *Workspace) note(p place, old Image) (after func(now Image)) {
	noted := w.Journal.note(p, old)
	return func(now Image) {
		noted(now)
		w.wrote(p, old, now)
	}
}

// wrote reports a change to Wrote. If the image is the same, the change has failed, and wrote does
// nothing.
func (w *Workspace) wrote(p place, old, now Image) {
	if w.Wrote != nil && (old.There() != now.There() || !bytes.Equal(old.Text, now.Text)) {
		w.Wrote(p.abs(), old, now)
	}
}

// Look returns the image at path: the editor's text if it is open there, else the image on
// the disk. It follows no link: of a link at path it returns the link, and below a link it
// finds nothing.
func (v *view) Look(ctx context.Context, path string) (now Image, err error) {
	p, err := v.literal(path)
	if err == nil {
		now, err = v.look(ctx, p)
	}
	if err != nil {
		return NoImage, v.explain(ctx, "reading", path, err)
	}
	return now, nil
}

// look is Look of a place.
func (v *view) look(ctx context.Context, p place) (Image, error) {
	doc, open, err := v.reading(ctx, p)
	if err != nil {
		return NoImage, err
	}
	if open {
		return openImage(doc.Text), nil
	}
	held, err := p.hold()
	switch {
	case missing(err):
		return NoImage, nil
	case err != nil:
		return NoImage, err
	}
	defer held.close()
	return readUnlessPipe(held)
}

// LookOnDisk is [Workspace.Look], but never at the editor.
func (d *disk) LookOnDisk(ctx context.Context, path string) (now Image, err error) {
	err = d.retry(path, d.locateExactLink, func(p place) error {
		now, err = lookOnDisk(p)
		return err
	})
	if err != nil {
		return NoImage, d.explain(ctx, "reading", path, err)
	}
	return now, nil
}

// readUnlessPipe is [lookOnDisk] without pipes and sockets: for these it returns NoImage.
func readUnlessPipe(p place) (Image, error) {
	if isPipe(p) {
		return NoImage, nil
	}
	return lookOnDisk(p)
}

// isPipe reports whether a named pipe or a socket is at p.
func isPipe(p place) bool {
	info, err := p.folder.root.Lstat(p.rel)
	return err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0
}

func lookOnDisk(p place) (Image, error) {
	root := p.folder.root
	info, err := root.Lstat(p.rel)
	switch {
	case missing(err):
		return NoImage, nil
	case err != nil:
		return NoImage, err
	case info.IsDir():
		return Image{Mode: fs.ModeDir | info.Mode().Perm()}, nil
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := root.Readlink(p.rel)
		return Image{Mode: fs.ModeSymlink, Link: link}, err
	case !info.Mode().IsRegular():
		return NoImage, &safefile.KindError{Mode: info.Mode()}
	}
	before, err := readBefore(p, true)
	return fileImage(before.text, before.info), err
}

// PutBack replaces the image at path by want, completely or not at all. It follows no link.
//
// check receives the present image; for an open document with unsaved changes, it is the editor's
// text. If check returns an error, PutBack returns it and does nothing. An open document is changed
// in the editor. If it had no unsaved changes, an editor that saves edits saves it, otherwise the
// user does. If the editor cannot save it, PutBack returns a [NotSaved]: the editor has want. If
// the editor has not reloaded a document, it is changed on the disk. If it has unsaved changes and
// the file has changed, too, PutBack changes nothing. PutBack ignores which texts this session has
// read.
func (w *Workspace) PutBack(ctx context.Context, path string, want Image, check func(now Image) error) error {
	if err := w.writing.lock(ctx); err != nil {
		return err
	}
	defer w.writing.unlock()
	p, err := w.literal(path)
	var fromCheck error
	if err == nil {
		fromCheck, err = w.putBack(ctx, p, want, check)
	}
	if fromCheck != nil {
		return fromCheck
	}
	if err != nil {
		return w.explain(ctx, "restoring", path, err)
	}
	return nil
}

func (w *Workspace) putBack(ctx context.Context, p place, want Image, check func(now Image) error) (fromCheck, err error) {
	doc, open, err := w.document(ctx, p)
	if err != nil && !errors.Is(err, errAbsent) && !(errors.Is(err, ErrRefused) && isPipe(p)) {
		return nil, err
	}
	held, err := p.hold()
	gone := missing(err)
	if err != nil && !gone {
		return nil, err
	}
	now := NoImage
	if !gone {
		defer held.close()
		if now, err = readUnlessPipe(held); err != nil {
			return nil, err
		}
	}
	binary := w.HasUnlistedBuffers() && !utf8.Valid(want.Text) // which the editor takes for text
	if open && want.There() && !binary && (want.Open || want.Mode.IsRegular() && now.There()) {
		o := w.compared(p, doc)
		onDisk := o.clean() && w.editsDisk() && now.There() && !want.Open
		if o.state == diskNewer && !onDisk {
			if o, open, err = w.awaitReload(ctx, p, o); err != nil {
				return nil, err
			}
		}
		switch {
		case !open:
			return w.putBack(ctx, p, want, check) // the user has closed it
		case onDisk:
		case o.state != diskNewer || w.HasUnlistedBuffers():
			return w.putBackDocument(ctx, p, o, now, want, check)
		}
	}
	if fromCheck = check(now); fromCheck != nil {
		return fromCheck, nil
	}
	was := now
	if open {
		was = openImage(doc.Text)
	}
	after := w.note(p, now)
	undo := func() {}
	if gone {
		if held, undo, err = p.makeParent(); err != nil {
			after(now)
			return nil, err
		}
		defer held.close()
	}
	if err := w.exchange(ctx, held, was, now, want); err != nil {
		undo()
		after(now)
		return nil, err
	}
	after(want)
	return nil, nil
}

// putBackDocument is [Workspace.PutBack] of a file whose document the editor changes. now is the
// image on the disk.
func (w *Workspace) putBackDocument(ctx context.Context, p place, o opened, now, want Image, check func(now Image) error) (fromCheck, err error) {
	text := want.Text
	if !want.Open { // bytes of a file, which the editor shows as UTF-8
		text = bytes.TrimPrefix(textenc.CharsetOf(text).Decode(text), []byte("\ufeff"))
	}
	restored := bytes.Equal(o.Text, text) && !w.HasUnlistedBuffers() && w.edited.has(p.abs()) // and not saved
	if o.state == bothChanged && !restored {
		name := w.Name(p.abs())
		return nil, &PathError{Path: name, Text: name + " has unsaved changes in the editor, and the file has changed on disk, too. Nothing was changed. Save or reload it, then restore it again", Err: ErrStale}
	}
	if !now.Mode.IsRegular() || o.state != diskNewer && w.differs(ctx, p, o.Text) {
		now = openImage(o.Text)
	}
	if fromCheck = check(now); fromCheck != nil {
		return fromCheck, nil
	}
	if bytes.Equal(o.Text, text) && o.state != diskNewer {
		return nil, nil
	}
	was := openImage(o.Text)
	if o.state == diskNewer {
		was = now
	}
	after := w.Journal.note(p, was)
	done, err := w.putIntoEditor(ctx, p, o, text)
	if err != nil {
		after(was)
		return nil, err
	}
	after(openImage(done.text))
	w.wrote(p, was, openImage(text))
	if done.failed != nil {
		return nil, done.failed
	}
	return nil, nil
}

// exchange replaces now by want on the disk. was is now, or the editor's text. A pipe is removed
// first: an editor writing into it would wait.
func (w *Workspace) exchange(ctx context.Context, p place, was, now, want Image) error {
	root := p.folder.root
	if want.There() && isPipe(p) {
		if err := root.Remove(p.rel); err != nil {
			return err
		}
	}
	if !want.There() {
		_, err := w.remove(ctx, p, was, func() error { return root.Remove(p.rel) })
		return err
	}
	if want.Mode.IsDir() && now.There() && now.Mode.IsDir() {
		return root.Chmod(p.rel, want.Mode.Perm())
	}
	if now.There() && now.Mode.IsDir() != want.Mode.IsDir() {
		if err := root.Remove(p.rel); err != nil {
			return err
		}
	}
	if want.Mode.IsDir() {
		return root.MkdirAll(p.rel, want.Mode.Perm())
	}
	dir, made, err := openParent(p)
	if err == nil {
		err = w.replaceByText(ctx, p, dir, want)
		dir.Close()
	}
	if err != nil {
		removeFolders(root, made)
	}
	return err
}

// replaceByText is [replaceByImage], but a text goes through the editor unless the editor leaves
// the file to the disk. A file saved by the editor gets the mode of want.
func (w *Workspace) replaceByText(ctx context.Context, p place, dir *os.Root, want Image) error {
	base := filepath.Base(p.rel)
	if !want.Mode.IsRegular() || !utf8.Valid(want.Text) {
		return w.replaceByImage(p, dir, want)
	}
	done, err := w.writeThroughEditor(ctx, p, want.Text, !p.absent())
	switch {
	case err != nil:
		return err
	case !done:
		return w.replaceByImage(p, dir, want)
	case want.Open:
		return nil
	}
	if err := dir.Chmod(base, want.Mode.Perm()); !missing(err) {
		return err
	}
	return nil
}

// replaceByImage atomically replaces the file or link at p, if any, by want. If a file cannot be
// replaced, it is written in place.
func (w *Workspace) replaceByImage(p place, dir *os.Root, want Image) (err error) {
	base := filepath.Base(p.rel)
	temp, done := w.temp(p)
	defer done()
	if want.Mode&fs.ModeSymlink != 0 {
		err = dir.Symlink(want.Link, temp)
	} else {
		err = writeImage(dir, temp, base, want)
	}
	if err == nil {
		err = dir.Rename(temp, base)
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	if want.Mode.IsRegular() && safefile.OnlyInPlace(err) && !p.absent() {
		err = w.overwriteByImage(p, dir, want)
	}
	if err != nil {
		return err
	}
	return syncFolder(dir)
}

func writeImage(dir *os.Root, temp, base string, want Image) (err error) {
	mode := want.Mode.Perm()
	if want.Open { // an editor's text has no mode
		mode = 0o644
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(want.Text); err != nil {
		return err
	}
	if old, err := dir.Lstat(base); err == nil && old.Mode().IsRegular() {
		keepOwner(f, old)
		if want.Open {
			mode = old.Mode().Perm()
		}
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	return f.Sync()
}
