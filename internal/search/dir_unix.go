//go:build unix

package search

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// openDir is an open directory of a walk. Its entries are opened by name and never through
// a link, so nothing leads out of the workspace folders, even if entries are replaced
// during the walk. [os.Root] gives the same guarantee, but needs twice the system calls.
type openDir struct{ file *os.File }

func openRootDir(root *os.Root, path string) (openDir, error) {
	f, err := root.Open(".")
	if err != nil {
		return openDir{}, err
	}
	defer f.Close()
	return openDirAt(int(f.Fd()), ".", path)
}

func openDirAt(dir int, name, path string) (openDir, error) {
	fd, err := openAt(dir, name, unix.O_DIRECTORY)
	if err != nil {
		return openDir{}, err
	}
	return openDir{os.NewFile(uintptr(fd), path)}, nil
}

func openAt(dir int, name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (d openDir) close() { _ = d.file.Close() }

func (d openDir) entries() []fs.DirEntry {
	entries, _ := d.file.ReadDir(-1) // after an error, the entries read so far
	return entries
}

// sub opens a directory in d; path is its name in messages.
func (d openDir) sub(name, path string) (openDir, error) {
	return openDirAt(int(d.file.Fd()), name, path)
}

// open opens a regular file in d.
func (d openDir) open(name string) (io.ReadCloser, error) {
	fd, err := openAt(int(d.file.Fd()), name, 0)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return nil, safefile.ErrNotRegular
	}
	return &walkedFile{fd: fd, size: stat.Size}, nil
}

// walkedFile reads a file up to its size when it was opened. It reads a file without a size, as in
// /proc, to its end.
type walkedFile struct {
	fd         int
	size, read int64
}

func (f *walkedFile) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, p)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		f.read += int64(n)
		if n == 0 && len(p) > 0 || f.size > 0 && f.read >= f.size {
			return n, io.EOF
		}
		return n, nil
	}
}

func (f *walkedFile) Close() error { return unix.Close(f.fd) }
