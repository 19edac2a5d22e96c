package safefile

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// handle is an open directory. Each part of a path is compared with the opened file, to detect a
// link that appears meanwhile.
type handle struct {
	root *os.Root
	list *listing
}

// listing is a directory during reading.
type listing struct{ file *os.File }

func openHandle(path string) (handle, error) {
	root, err := OpenRoot(path)
	return handle{root, &listing{}}, err
}

func (h handle) close() error {
	if h.list.file != nil {
		h.list.file.Close() // only read
	}
	return h.root.Close()
}

func (h handle) folder(name string) (handle, error) {
	at, err := h.root.OpenRoot(".")
	for part := range strings.SplitSeq(name, `\`) {
		if err != nil {
			return handle{}, err
		}
		if part == "." {
			continue
		}
		next, openErr := openPart(at, part)
		at.Close() // only read
		at, err = next, openErr
	}
	return handle{at, &listing{}}, err
}

func openPart(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 {
		return nil, ErrLink
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := next.Stat(".")
	if err == nil && !os.SameFile(before, now) {
		err = ErrLink
	}
	if err != nil {
		next.Close() // only read
		return nil, err
	}
	return next, nil
}

func (h handle) lstat(base string) (fs.FileInfo, error)    { return h.root.Lstat(base) }
func (h handle) readlink(base string) (string, error)      { return h.root.Readlink(base) }
func (h handle) mkdir(base string, mode fs.FileMode) error { return h.root.Mkdir(base, mode) }
func (h handle) rename(from, to string) error              { return h.root.Rename(from, to) }
func (h handle) symlink(target, base string) error         { return h.root.Symlink(target, base) }
func (h handle) remove(base string) error                  { return h.root.Remove(base) }

func (h handle) open(base string) (*os.File, error) {
	before, err := h.root.Lstat(base)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, &KindError{before.Mode()}
	}
	f, err := h.root.Open(base)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		f.Close() // only read
		return nil, ErrLink
	}
	return f, nil
}

func (h handle) openWriting(base string) (*os.File, error) {
	return h.root.OpenFile(base, os.O_WRONLY, 0)
}

func (h handle) create(base string, mode fs.FileMode) (*os.File, error) {
	return h.root.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// renameTo moves between directories by their paths: the system offers no other way.
func (h handle) renameTo(from string, dir handle, to string) error {
	if h.root == dir.root {
		return h.root.Rename(from, to)
	}
	return os.Rename(filepath.Join(h.root.Name(), from), filepath.Join(dir.root.Name(), to))
}

func (h handle) link(from string, dir handle, to string) error {
	return os.Link(filepath.Join(h.root.Name(), from), filepath.Join(dir.root.Name(), to))
}

func (h handle) chmod(base string, mode fs.FileMode) error {
	info, err := h.root.Lstat(base)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return ErrNotRegular
	}
	return h.root.Chmod(base, mode)
}

func (h handle) entries(limit int) ([]fs.DirEntry, error) {
	if h.list.file == nil {
		f, err := h.root.Open(".")
		if err != nil {
			return nil, err
		}
		h.list.file = f
	}
	return h.list.file.ReadDir(limit)
}

func (h handle) rewind() error {
	if h.list.file == nil {
		return nil
	}
	_, err := h.list.file.Seek(0, io.SeekStart)
	return err
}

func linksOf(fs.FileInfo) (id FileID, names uint64, known bool) { return FileID{}, 0, false }

func handleOf(root *os.Root) (handle, error) {
	own, err := root.OpenRoot(".")
	return handle{own, &listing{}}, err
}

func (h handle) stat() (fs.FileInfo, error) { return h.root.Stat(".") }
