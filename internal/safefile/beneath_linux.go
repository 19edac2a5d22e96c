package safefile

import (
	"errors"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// openBeneath opens a folder below another, without a link on the way. On an old kernel
// the error is [errors.ErrUnsupported].
func openBeneath(dir int, name string) (int, error) {
	how := unix.OpenHow{
		Flags:   openFlags | unix.O_DIRECTORY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for range 100 {
		fd, err := unix.Openat2(dir, name, &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // something was moved meanwhile
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return -1, errors.ErrUnsupported
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
			return -1, ErrLink
		default:
			return fd, err
		}
	}
	return -1, errors.ErrUnsupported
}

// chmodIn changes the mode by a path descriptor, which also works for files without permission to
// open.
func chmodIn(dir int, base string, mode uint32) error {
	fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // nothing was written
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if kind := stat.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return ErrNotRegular
	}
	return unix.Chmod(filepath.Join("/proc/self/fd", strconv.Itoa(fd)), mode)
}
