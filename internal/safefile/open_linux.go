package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openPath follows links, except links in /proc to a process's open files.
func openPath(path string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM): // an old kernel, or a container that forbids the call
			return os.OpenFile(path, Flags, 0)
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// ofKernel reports whether the kernel generates the content of f.
func ofKernel(f *os.File) bool {
	raw, err := f.SyscallConn() // f.Fd would make f wait
	if err != nil {
		return false
	}
	var stat unix.Statfs_t
	if err := raw.Control(func(fd uintptr) { err = unix.Fstatfs(int(fd), &stat) }); err != nil {
		return false
	}
	switch stat.Type {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC:
		return true
	}
	return false
}
