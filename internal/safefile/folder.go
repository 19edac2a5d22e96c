package safefile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrLink reports a symbolic link in a path, which a [Folder] never follows.
var ErrLink = errors.New("a part of the path is a link")

// ErrNotLocal reports a name that leads out of its folder.
var ErrNotLocal = errors.New("the name leads out of the folder")

// Folder is an open directory. A command may change everything below it at any moment: each file
// reached through a Folder is below it, and no link on the way is followed. Names are relative and
// local ("a/b"). Other names return [ErrNotLocal].
//
// The server uses a Folder for its own files in directories written by commands. The zero Folder is
// closed. Its methods are safe for concurrent use, except Close.
type Folder struct {
	handle handle
	path   string // for messages
}

// OpenFolder opens the directory at path. It follows the links of path itself, so path must be
// checked or out of reach of commands.
func OpenFolder(path string) (*Folder, error) {
	h, err := openHandle(path)
	if err != nil {
		return nil, err
	}
	return &Folder{h, path}, nil
}

// Close gives the folder up.
func (f *Folder) Close() error { return f.handle.close() }

// Path is the folder's, as it was opened, for messages and for other programs.
func (f *Folder) Path() string { return f.path }

// in runs do on the parent directory and the last part of name.
func (f *Folder) in(op, name string, do func(dir handle, base string) error) error {
	clean, err := local(name)
	if err == nil && clean == "." {
		err = ErrNotLocal
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	dir, base := filepath.Split(clean)
	at := f.handle
	if dir = filepath.Clean(dir); dir != "." {
		if at, err = f.handle.folder(dir); err != nil {
			return &fs.PathError{Op: op, Path: name, Err: bare(err)}
		}
		defer at.close() // only read
	}
	if err := do(at, base); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: bare(err)}
	}
	return nil
}

// local returns name as a path of the system, without "." and "..".
func local(name string) (string, error) {
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(name) {
		return "", ErrNotLocal
	}
	return filepath.Clean(name), nil
}

// bare returns an error without the path, which the caller adds.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Sub opens a folder below f.
func (f *Folder) Sub(name string) (*Folder, error) {
	clean, err := local(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	h, err := f.handle.folder(clean)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: bare(err)}
	}
	return &Folder{h, filepath.Join(f.path, clean)}, nil
}

// Lstat describes the file or link at name.
func (f *Folder) Lstat(name string) (info fs.FileInfo, err error) {
	err = f.in("lstat", name, func(dir handle, base string) error {
		info, err = dir.lstat(base)
		return err
	})
	return info, err
}

// Readlink returns where a link leads.
func (f *Folder) Readlink(name string) (target string, err error) {
	err = f.in("readlink", name, func(dir handle, base string) error {
		target, err = dir.readlink(base)
		return err
	})
	return target, err
}

// Open opens a regular file for reading. If something else is there, it returns a
// [*KindError].
func (f *Folder) Open(name string) (file *os.File, info fs.FileInfo, err error) {
	err = f.in("open", name, func(dir handle, base string) error {
		opened, err := dir.open(base)
		if err == nil {
			file, info, err = checked(opened)
		}
		return err
	})
	return file, info, err
}

// Read returns the content of a regular file. If it has more than limit bytes, Read
// returns [ErrTooLarge] and no content.
func (f *Folder) Read(name string, limit int64) ([]byte, error) {
	file, info, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	return ReadAll(file, info.Size(), limit)
}

// ReadDir lists the entries of the folder name ("." is f itself), in no order, and at most
// limit entries. If there are more, the error is [ErrTooLarge].
func (f *Folder) ReadDir(name string, limit int) ([]fs.DirEntry, error) {
	clean, err := local(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	dir, err := f.handle.folder(clean)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: bare(err)}
	}
	defer dir.close() // only read
	entries, err := dir.entries(limit + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if len(entries) > limit {
		return entries[:limit], fmt.Errorf("%s: %w: it has more than %d entries", filepath.Join(f.path, name), ErrTooLarge, limit)
	}
	return entries, err
}

// Mkdir makes a folder where nothing is.
func (f *Folder) Mkdir(name string, mode fs.FileMode) error {
	return f.in("mkdir", name, func(dir handle, base string) error { return dir.mkdir(base, mode) })
}

// MkdirAll creates a directory and its missing parents. "." always exists.
func (f *Folder) MkdirAll(name string, mode fs.FileMode) error {
	clean, err := local(name)
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	if clean == "." {
		return nil
	}
	at := ""
	for part := range strings.SplitSeq(clean, string(filepath.Separator)) {
		at = filepath.Join(at, part)
		if err := f.Mkdir(at, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	dir, err := f.handle.folder(clean) // it may have been replaced
	if err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: bare(err)}
	}
	return dir.close()
}

// Create makes a new regular file for writing. If something is there, the error is
// [fs.ErrExist].
func (f *Folder) Create(name string, mode fs.FileMode) (file *os.File, err error) {
	err = f.in("create", name, func(dir handle, base string) error {
		file, err = dir.create(base, mode)
		return err
	})
	return file, err
}

// Write replaces the file name by text atomically: readers see the old file or the new. It replaces
// a link or a hard link and does not write through it. A mount point is written in place. If Write
// fails, nothing has changed.
func (f *Folder) Write(name string, text []byte, mode fs.FileMode) error {
	return f.in("write", name, func(dir handle, base string) error {
		temp := ".hermes-" + rand.Text()[:12] + ".tmp"
		file, err := dir.create(temp, mode)
		if err != nil {
			return err
		}
		_, err = file.Write(text)
		if err = errors.Join(err, file.Close()); err == nil {
			err = dir.rename(temp, base)
		}
		if err != nil {
			_ = dir.remove(temp) // the first error is more useful
		}
		if errors.Is(err, syscall.EBUSY) {
			err = overwriteIn(dir, base, Settings, func([]byte) ([]byte, bool) { return text, true })
		}
		return err
	})
}

// Chmod changes the permissions of a regular file or a folder.
func (f *Folder) Chmod(name string, mode fs.FileMode) error {
	return f.in("chmod", name, func(dir handle, base string) error { return dir.chmod(base, mode) })
}

// Rename moves the file or directory from to the name to, both below f.
func (f *Folder) Rename(from, to string) error {
	return f.in("rename", from, func(old handle, oldBase string) error {
		return f.in("rename", to, func(next handle, base string) error {
			return old.renameTo(oldBase, next, base)
		})
	})
}

// Link gives a regular file below f a second name, below to. If there is no regular file,
// it returns a [*KindError].
func (f *Folder) Link(from string, to *Folder, name string) error {
	return f.in("link", from, func(old handle, oldBase string) error {
		return to.in("link", name, func(next handle, base string) error {
			if err := old.link(oldBase, next, base); err != nil {
				return err
			}
			info, err := next.lstat(base)
			if err == nil && !info.Mode().IsRegular() {
				err = errors.Join(&KindError{info.Mode()}, next.remove(base))
			}
			return err
		})
	})
}

// Symlink makes a link where nothing is.
func (f *Folder) Symlink(target, name string) error {
	return f.in("symlink", name, func(dir handle, base string) error { return dir.symlink(target, base) })
}

// Remove removes a file, a link itself, or an empty folder.
func (f *Folder) Remove(name string) error {
	return f.in("remove", name, func(dir handle, base string) error { return dir.remove(base) })
}

// deepest is the maximum number of directories RemoveAll holds open. It first moves deeper
// directories up: a command can nest more directories than a process may open.
const deepest = 100

// RemoveAll removes name with all its contents, including directories that the user may not enter.
// If name does not exist, it returns nil.
func (f *Folder) RemoveAll(name string) error {
	return f.in("remove", name, func(dir handle, base string) error {
		r := remover{top: dir}
		err := r.remove(dir, base, deepest)
		for err == nil && len(r.moved) > 0 {
			next := r.moved[len(r.moved)-1]
			r.moved = r.moved[:len(r.moved)-1]
			err = r.remove(dir, next, deepest)
		}
		return err
	})
}

// remover is a RemoveAll below the folder top.
type remover struct {
	top   handle
	moved []string // in top, still to be removed
}

func (r *remover) remove(dir handle, base string, depth int) error {
	err := dir.remove(base)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	info, lookErr := dir.lstat(base)
	if lookErr != nil || !info.IsDir() {
		return err
	}
	if info.Mode().Perm()&0o700 != 0o700 {
		_ = dir.chmod(base, 0o700) // if it cannot be opened now, the open reports it
	}
	if depth == 0 {
		name := ".removed-" + rand.Text()[:12]
		r.moved = append(r.moved, name)
		return dir.renameTo(base, r.top, name)
	}
	sub, err := dir.folder(base)
	if err != nil {
		return err
	}
	defer sub.close() // it is about to go
	if err := r.empty(sub, depth-1); err != nil {
		return err
	}
	return dir.remove(base)
}

func (r *remover) empty(dir handle, depth int) error {
	for {
		entries, err := dir.entries(1000)
		for _, e := range entries {
			if err := r.remove(dir, e.Name(), depth); err != nil {
				return err
			}
		}
		if len(entries) == 0 {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if err := dir.rewind(); err != nil {
			return err
		}
	}
}

// Links returns the identity of a file, and the number of its names (hard links). Two files with
// the same id are names of the same file. If the system does not report it, known is false.
func Links(info fs.FileInfo) (id FileID, names uint64, known bool) { return linksOf(info) }

// FileID identifies a file, independent of its names.
type FileID struct{ device, inode uint64 }

// FolderOf returns the folder opened by root.
func FolderOf(root *os.Root) (*Folder, error) {
	h, err := handleOf(root)
	if err != nil {
		return nil, err
	}
	return &Folder{h, root.Name()}, nil
}

// Is reports whether root is open on the same directory.
func (f *Folder) Is(root *os.Root) bool {
	ours, err := f.handle.stat()
	if err != nil {
		return false
	}
	theirs, err := root.Stat(".")
	return err == nil && os.SameFile(ours, theirs)
}
