package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// MaxWhole is the maximum size in bytes of a text to read, hash or edit as a whole.
const MaxWhole = 64 << 20

// Window is a part of the text at a path.
type Window struct {
	Path string // absolute
	Name string // as shown to the model
	textenc.Window
}

// Read returns the whole text at path, the editor's if it is open there. If it is longer
// than 64 MiB, the error is [ErrTooLarge].
func (w *Workspace) Read(ctx context.Context, path string) (*File, error) {
	p, err := w.locate(path)
	if err != nil {
		return nil, err
	}
	doc, open, err := w.reading(ctx, p)
	if err != nil {
		return nil, err
	}
	file := &File{Path: p.abs(), Name: w.Name(p.abs()), Open: open}
	if open {
		file.Text, file.Version = doc.Text, doc.Version
		if info, err := p.folder.root.Stat(p.rel); err == nil {
			file.Mode = info.Mode()
		}
	} else {
		text, info, err := w.readWhole(ctx, path)
		if err != nil {
			return nil, err
		}
		file.Text, file.Mode = text, info.Mode()
	}
	w.remember(file.Path, file.Text)
	return file, nil
}

// ReadIfThere is [Workspace.Read] of a possibly missing file. If the editor does not list its open
// documents, it is asked only if the file is on disk: some editors show an error for each missing
// file.
func (w *Workspace) ReadIfThere(ctx context.Context, path string) (*File, error) {
	if w.HasUnlistedBuffers() {
		if _, err := w.Stat(ctx, path); err != nil {
			return nil, err
		}
	}
	return w.Read(ctx, path)
}

// readWhole reads the file at path from the disk. The text is never nil.
func (d *disk) readWhole(ctx context.Context, path string) ([]byte, fs.FileInfo, error) {
	_, f, info, err := d.openFile(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	text, err := readAll(f, info.Size())
	if errors.Is(err, ErrTooLarge) {
		return nil, nil, &PathError{Path: path, Text: fmt.Sprintf("%s is too large to be taken whole (%d MiB, the limit is %d)", path, info.Size()>>20, MaxWhole>>20), Advice: "; read a window of it, or change it with a command", Err: ErrTooLarge}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, plain(err))
	}
	return text, info, nil
}

// readAll reads at most MaxWhole bytes; size is the expected number.
func readAll(r io.Reader, size int64) ([]byte, error) { return safefile.ReadAll(r, size, MaxWhole) }

// openFile opens the regular file at path, and nothing else.
func (d *disk) openFile(ctx context.Context, path string) (p place, f *os.File, info fs.FileInfo, err error) {
	err = d.at(path, func(at place) error {
		p = at
		f, info, err = safefile.OpenIn(at.folder.root, at.rel)
		return err
	})
	if err != nil {
		return place{}, nil, nil, d.explain(ctx, "reading", path, err)
	}
	return p, f, info, nil
}

// explain turns an error of the disk into a sentence about path. doing is a word
// such as "reading".
func (s *scope) explain(ctx context.Context, doing, path string, err error) error {
	var known *PathError
	var kind *safefile.KindError
	var unsaved *NotSaved
	switch {
	case errors.As(err, &known), errors.As(err, &unsaved):
		return err
	case errors.As(err, &kind):
		return &PathError{Path: path, Text: path + " " + kind.Error(), Err: ErrNotRegular}
	case missing(err):
		return s.notFound(ctx, path)
	case errors.Is(err, syscall.EBUSY):
		return mountPoint(path, err)
	}
	return diskError(doing, path, err)
}

// diskError returns the error for a failed write to the disk. If the disk is full, the file is as
// it was.
func diskError(doing, path string, err error) error {
	why := plain(err)
	if errno, ok := why.(syscall.Errno); ok && safefile.NoRoom(errno) != "" { // an error with another text already describes the change
		return &PathError{Path: path, Text: fmt.Sprintf("%s %s: %s. Nothing was changed. Make room, then try again", doing, path, safefile.NoRoom(errno)), Err: err}
	}
	return &PathError{Path: path, Text: fmt.Sprintf("%s %s: %v", doing, path, why), Err: err}
}

// Lines returns limit lines from line offset on (from 1). A limit of 0 or less
// means as many as fit. The text may be of any size; a window holds at most 4 MiB.
func (w *Workspace) Lines(ctx context.Context, path string, offset, limit int) (*Window, error) {
	p, err := w.locate(path)
	if err != nil {
		return nil, err
	}
	doc, open, err := w.reading(ctx, p)
	if err != nil {
		return nil, err
	}
	if open {
		return w.textWindow(ctx, p, doc.Text, offset, limit)
	}
	p, f, info, err := w.openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() <= maxKept {
		text, err := readAll(f, info.Size())
		if err != nil {
			return nil, w.explain(ctx, "reading", path, err)
		}
		return w.textWindow(ctx, p, text, offset, limit)
	}
	win, err := w.window(ctx, p, f, info.Size(), info, offset, limit)
	if err != nil {
		return nil, w.explain(ctx, "reading", path, err)
	}
	return win, nil
}

// textWindow returns lines of a whole text.
func (w *Workspace) textWindow(ctx context.Context, p place, text []byte, offset, limit int) (*Window, error) {
	read, err := textenc.ReadWindow(ctx, bytes.NewReader(text), int64(len(text)), offset, limit)
	if err != nil {
		return nil, err
	}
	w.remember(p.abs(), text)
	return &Window{p.abs(), w.Name(p.abs()), *read}, nil
}

// window reads all of r to count its lines, and keeps the requested lines.
func (w *Workspace) window(ctx context.Context, p place, r io.Reader, size int64, info fs.FileInfo, offset, limit int) (*Window, error) {
	var sum hash.Hash
	if size <= MaxWhole {
		sum = sha256.New()
		r = io.TeeReader(r, sum)
	}
	read, err := textenc.ReadWindow(ctx, r, size, offset, limit)
	if err != nil {
		return nil, err
	}
	win := &Window{p.abs(), w.Name(p.abs()), *read}
	w.rememberText(win.Path, readText{stamp: windowStamp(sum, info)})
	return win, nil
}

func windowStamp(sum hash.Hash, info fs.FileInfo) stamp {
	if sum != nil {
		return stamp{sum: sum.Sum(nil)}
	}
	return stamp{info: info}
}
