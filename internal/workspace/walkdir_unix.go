//go:build unix

package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// walkedFolder is a folder that a walk has come to, held open. What lies in it is
// opened by its name alone and never through a link, so nothing leads out of the
// folders, whatever is swapped meanwhile. [os.Root] would promise the same, but asks
// the system twice as much.
type walkedFolder struct{ file *os.File }

func openWalked(root *os.Root, path string) (walkedFolder, error) {
	f, err := root.Open(".")
	if err != nil {
		return walkedFolder{}, err
	}
	defer f.Close()
	return openFolderAt(int(f.Fd()), ".", path)
}

func openFolderAt(dir int, name, path string) (walkedFolder, error) {
	fd, err := openAt(dir, name, unix.O_DIRECTORY)
	if err != nil {
		return walkedFolder{}, err
	}
	return walkedFolder{os.NewFile(uintptr(fd), path)}, nil
}

func openAt(dir int, name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

func (d walkedFolder) close() { _ = d.file.Close() }

func (d walkedFolder) entries() []fs.DirEntry {
	entries, _ := d.file.ReadDir(-1) // what could be read counts
	return entries
}

// sub opens a folder in d; path is its name in messages.
func (d walkedFolder) sub(name, path string) (walkedFolder, error) {
	return openFolderAt(int(d.file.Fd()), name, path)
}

// open opens a regular file in d.
func (d walkedFolder) open(name string) (io.ReadCloser, error) {
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
		return nil, ErrNotRegular
	}
	return &walkedFile{fd: fd, size: stat.Size}, nil
}

// walkedFile reads a file up to the size that it had when it was opened; one without
// a size, as /proc has them, to its end.
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
