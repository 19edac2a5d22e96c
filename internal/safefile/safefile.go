// Package safefile opens and reads files that may come from a repository or a command, and replaces
// files as a whole ([Replace], [Save]).
//
// The server reads some files without a request, such as .python-version or a git pointer. Their
// place may hold a named pipe, a device, a directory, a socket, a link to /dev/zero, or an endless
// file. Every function that reads:
//
//   - opens regular files only, and never waits for one,
//   - reads no more than the caller's limit,
//   - rejects files of the kernel, such as those in /proc.
//
// Functions with the suffix "In" stay below a directory opened by the caller: a link that leads out
// of it is an error. The other functions follow links, because users link their own settings from
// elsewhere. Use them for files of the user, or if the content is only compared or parsed and never
// shown.
//
// All functions are safe for concurrent use.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Limits for kinds of files.
const (
	// Settings bounds a file of settings, such as a git configuration.
	Settings = 1 << 20
	// Line bounds a single-line file, such as .python-version.
	Line = 64 << 10
)

// The errors of a file, besides the system's.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = errors.New("the file is too large")
)

// readTime is how long a read may wait. The files of a disk never wait, but some files of
// the kernel call themselves regular and do.
const readTime = 5 * time.Second

// Open opens the regular file at path for reading. It follows links. If something else
// is there, it returns a [*KindError].
func Open(path string) (*os.File, fs.FileInfo, error) {
	// Looking first keeps a device from being opened at all.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &KindError{info.Mode()}
	}
	f, err := openPath(path)
	if err != nil {
		return nil, nil, err
	}
	if ofKernel(f) {
		f.Close() // only read
		return nil, nil, &KindError{fs.ModeIrregular}
	}
	return checked(f)
}

// OpenIn opens the regular file name below root for reading. If something else is
// there, it returns a [*KindError].
func OpenIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &KindError{info.Mode()}
	}
	return OpenSeen(root, name)
}

// OpenSeen is OpenIn for a name that the caller has just found to be a regular file.
func OpenSeen(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, Flags, 0)
	if err != nil {
		return nil, nil, err
	}
	return checked(f)
}

// checked closes f and returns an error if f is not a regular file. It may have been
// replaced since the last check.
func checked(f *os.File) (*os.File, fs.FileInfo, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &KindError{info.Mode()}
	}
	if err != nil {
		f.Close() // only read
		return nil, nil, err
	}
	// Files of a disk have no deadline and need none.
	_ = f.SetReadDeadline(time.Now().Add(readTime))
	return f, info, nil
}

// Read returns the content of the regular file at path. It follows links. If the file
// has more than limit bytes, it returns [ErrTooLarge] and no content.
func Read(path string, limit int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return ReadAll(f, info.Size(), limit)
}

// ReadIn returns the content of the regular file name below root. If the file has more
// than limit bytes, it returns [ErrTooLarge] and no content.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, info, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return ReadAll(f, info.Size(), limit)
}

// HeadIn returns the first n bytes of the regular file name below root. If the file is shorter, it returns all
// of it.
func HeadIn(root *os.Root, name string, n int64) ([]byte, error) {
	f, info, err := OpenIn(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	return ReadAll(io.LimitReader(f, n), min(n, info.Size()), n)
}

// ReadBelow is ReadIn for a directory not yet opened.
func ReadBelow(folder, name string, limit int64) ([]byte, error) {
	root, err := OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close() // only read
	return ReadIn(root, name, limit)
}

// ReadAll reads all of r, which has about size bytes. If there are more than limit, it
// returns [ErrTooLarge] and reads no further.
func ReadAll(r io.Reader, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrTooLarge, size, limit)
	}
	text := make([]byte, 0, size+1)
	for {
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return nil, err
		case int64(len(text)) > limit:
			return nil, fmt.Errorf("%w: the limit is %d bytes", ErrTooLarge, limit)
		case len(text) == cap(text):
			text = append(text, 0)[:len(text)]
		}
	}
}

// OpenRoot is [os.OpenRoot], but does not wait forever if a named pipe is in the folder's place.
func OpenRoot(folder string) (*os.Root, error) { return os.OpenRoot(asFolder(folder)) }

// OpenRootIn is [os.Root.OpenRoot], but does not wait forever if a named pipe is in the folder's
// place.
func OpenRootIn(root *os.Root, name string) (*os.Root, error) {
	if info, err := root.Stat(name); err == nil && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("not a directory")}
	}
	return root.OpenRoot(name + "/.") // the name itself is opened as a folder then
}

// asFolder makes the system reject a path to anything but a directory.
func asFolder(path string) string {
	if strings.HasSuffix(path, "/") {
		return path
	}
	return path + "/"
}

// KindError reports an entry that is not a regular file.
type KindError struct{ Mode fs.FileMode }

func (e *KindError) Error() string {
	switch {
	case e.Mode.IsDir():
		return "is a folder, not a file"
	case e.Mode&fs.ModeNamedPipe != 0:
		return "is a named pipe, not a regular file"
	case e.Mode&fs.ModeSocket != 0:
		return "is a socket, not a regular file"
	case e.Mode&fs.ModeDevice != 0:
		return "is a device, not a regular file"
	case e.Mode&fs.ModeSymlink != 0:
		return "is a link, not a regular file"
	}
	return "is not a regular file"
}

// Unwrap returns [ErrNotRegular].
func (e *KindError) Unwrap() error { return ErrNotRegular }
