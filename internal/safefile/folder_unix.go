//go:build unix

package safefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// handle is an open folder.
type handle struct{ file *os.File }

const openFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY

func openHandle(path string) (handle, error) {
	fd, err := retry(func() (int, error) { return unix.Open(path, openFlags|unix.O_DIRECTORY, 0) })
	if err != nil {
		return handle{}, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return handle{os.NewFile(uintptr(fd), path)}, nil
}

// retry repeats a call interrupted by a signal.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func retried(call func() error) error {
	_, err := retry(func() (int, error) { return 0, call() })
	return err
}

func (h handle) fd() int { return int(h.file.Fd()) }

func (h handle) close() error { return h.file.Close() }

// folder opens a directory below h, of one part or more.
func (h handle) folder(name string) (handle, error) {
	fd, err := openBeneath(h.fd(), name)
	if errors.Is(err, errors.ErrUnsupported) {
		fd, err = openParts(h.fd(), name)
	}
	if err != nil {
		return handle{}, err
	}
	return handle{os.NewFile(uintptr(fd), name)}, nil
}

// openParts opens the directories of a path one after another.
func openParts(dir int, name string) (int, error) {
	at, err := openFolderIn(dir, ".")
	for part := range strings.SplitSeq(name, "/") {
		if err != nil {
			return -1, err
		}
		var next int
		next, err = openFolderIn(at, part)
		unix.Close(at) // only read
		at = next
	}
	return at, err
}

func openFolderIn(dir int, name string) (int, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(dir, name, openFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0) })
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EMLINK) {
		var stat unix.Stat_t
		if unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			return -1, ErrLink
		}
	}
	return fd, err
}

func (h handle) lstat(base string) (fs.FileInfo, error) {
	info := &fileInfo{name: base}
	err := retried(func() error { return unix.Fstatat(h.fd(), base, &info.stat, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return nil, err
	}
	return info, nil
}

func (h handle) readlink(base string) (string, error) {
	for size := 256; ; size *= 2 {
		text := make([]byte, size)
		n, err := retry(func() (int, error) { return unix.Readlinkat(h.fd(), base, text) })
		if err != nil {
			return "", err
		}
		if n < size {
			return string(text[:n]), nil
		}
	}
}

// open looks before it opens: to open a device can have effects.
func (h handle) open(base string) (*os.File, error) {
	info, err := h.lstat(base)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &KindError{info.Mode()}
	}
	fd, err := retry(func() (int, error) { return unix.Openat(h.fd(), base, openFlags|unix.O_NOFOLLOW, 0) })
	if errors.Is(err, unix.ELOOP) {
		err = &KindError{fs.ModeSymlink}
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), base), nil
}

func (h handle) openWriting(base string) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(h.fd(), base, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), base), nil
}

func (h handle) create(base string, mode fs.FileMode) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(h.fd(), base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), base), nil
}

func (h handle) mkdir(base string, mode fs.FileMode) error {
	return retried(func() error { return unix.Mkdirat(h.fd(), base, uint32(mode.Perm())) })
}

func (h handle) rename(from, to string) error { return h.renameTo(from, h, to) }

func (h handle) renameTo(from string, dir handle, to string) error {
	return retried(func() error { return unix.Renameat(h.fd(), from, dir.fd(), to) })
}

// link does not follow a link at from.
func (h handle) link(from string, dir handle, to string) error {
	return retried(func() error { return unix.Linkat(h.fd(), from, dir.fd(), to, 0) })
}

func (h handle) symlink(target, base string) error {
	return retried(func() error { return unix.Symlinkat(target, h.fd(), base) })
}

// remove removes a file or an empty folder.
func (h handle) remove(base string) error {
	err := retried(func() error { return unix.Unlinkat(h.fd(), base, 0) })
	if err == nil || errors.Is(err, unix.ENOENT) {
		return err
	}
	info, lookErr := h.lstat(base)
	if lookErr != nil || !info.IsDir() {
		return err
	}
	return retried(func() error { return unix.Unlinkat(h.fd(), base, unix.AT_REMOVEDIR) })
}

// chmod does not follow a link. Old kernels cannot promise this, so chmod opens the file
// first. If the file cannot be opened, chmod compares it afterwards.
func (h handle) chmod(base string, mode fs.FileMode) error {
	return retried(func() error { return chmodIn(h.fd(), base, uint32(mode.Perm())) })
}

func (h handle) entries(limit int) ([]fs.DirEntry, error) { return h.file.ReadDir(limit) }

func (h handle) rewind() error {
	_, err := h.file.Seek(0, io.SeekStart)
	return err
}

// fileInfo is the system's description of an entry.
type fileInfo struct {
	name string
	stat unix.Stat_t
}

func (i *fileInfo) Name() string { return i.name }
func (i *fileInfo) Size() int64  { return i.stat.Size }
func (i *fileInfo) IsDir() bool  { return i.Mode().IsDir() }
func (i *fileInfo) Sys() any     { return &i.stat }
func (i *fileInfo) ModTime() time.Time {
	return time.Unix(i.stat.Mtim.Unix())
}

func (i *fileInfo) Mode() fs.FileMode {
	mode := fs.FileMode(i.stat.Mode & 0o777)
	switch i.stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}

func linksOf(info fs.FileInfo) (id FileID, names uint64, known bool) {
	if own, ok := info.(*fileInfo); ok {
		return FileID{uint64(own.stat.Dev), own.stat.Ino}, uint64(own.stat.Nlink), true // other types elsewhere
	}
	return systemLinks(info)
}

func handleOf(root *os.Root) (handle, error) {
	file, err := root.Open(".")
	return handle{file}, err
}

func (h handle) stat() (fs.FileInfo, error) { return h.file.Stat() }
