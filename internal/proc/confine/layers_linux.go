package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// slots is how many namespaces may layer the same folders at once. Two mounts must not write into
// the same layer. So each namespace has a slot, locked while the process that made it lives.
const slots = 256

// slot is a folder with the layers of a namespace. In each layer, "upper" contains the written
// files, and "work" is the kernel's.
type slot struct {
	dir   string
	first string // the slot with the lower layers for all others; empty: this slot
}

// takeSlot locks the first free slot. The lock ends with this process.
func takeSlot(dir string) (slot, error) {
	for n := range slots {
		s := slot{dir: filepath.Join(dir, strconv.Itoa(n))}
		if n > 0 {
			s.first = filepath.Join(dir, "0")
		}
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return s, err
		}
		// Not for writing: a mount with a file open for writing cannot be made read-only.
		fd, err := unix.Open(filepath.Join(s.dir, "lock"), unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return s, err
		}
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return s, nil // and never closed
		}
		unix.Close(fd) // only a handle
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return s, err
		}
	}
	return slot{}, fmt.Errorf("%d are in use", slots)
}

// layers mounts the plan's layers where no process sees them yet. If a folder cannot be layered, it
// is read-only.
func (p *Plan) layers() (places []place, err error) {
	if len(p.Layers) == 0 {
		return nil, nil
	}
	s, err := takeSlot(p.LayerDir)
	if err != nil {
		return nil, fmt.Errorf("taking a layer for caches: %w", err)
	}
	for _, l := range p.Layers {
		kind := writable
		fd, err := s.layer(l)
		if err != nil {
			kind = visible
			fd, err = tree(l.At)
		}
		if err == nil {
			places = append(places, place{l.At, kind, fd})
		}
	}
	return places, nil
}

// layer mounts a layer. In later slots, the first slot's layer lies below it, so downloads of
// earlier commands are visible.
func (s slot) layer(l Copy) (fd int, err error) {
	lower, err := unix.Openat2(unix.AT_FDCWD, l.At, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, err
	}
	defer unix.Close(lower) // only a handle
	upper, work := filepath.Join(s.dir, l.From, "upper"), filepath.Join(s.dir, l.From, "work")
	if err := as(lower, upper); err != nil {
		return -1, err
	}
	if err := os.RemoveAll(work); err != nil { // the kernel's remains of an earlier mount
		return -1, err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return -1, err
	}
	below := named(lower)
	if s.first != "" {
		path := filepath.Join(s.first, l.From, "upper")
		if first, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0); err == nil {
			defer unix.Close(first) // only a handle
			below = named(first) + ":" + below
		}
	}
	return overlay(below, upper, work, flagsOf(lower))
}

// named returns a short name of an open file without escapes.
func named(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// as makes a folder with the owner and mode of another.
func as(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		os.Chown(path, int(st.Uid), int(st.Gid)) // a user cannot, and need not
	}
	return os.Chmod(path, os.FileMode(st.Mode&0o777|0o700)) // a command may have taken our own rights
}

// flagsOf returns the flags of a folder's mount to keep for its layer.
func flagsOf(fd int) int {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) == nil && st.Flags&unix.ST_NOEXEC != 0 {
		return unix.MOUNT_ATTR_NOEXEC
	}
	return 0
}

// overlay mounts a writable layer. Written data is not forced to the disk: each
// changed file is copied, and the copy would wait for the disk.
func overlay(lower, upper, work string, flags int) (fd int, err error) {
	var fds [2]int
	for i, path := range []string{upper, work} {
		if fds[i], err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0); err != nil {
			return -1, err
		}
		defer unix.Close(fds[i]) // only a handle
	}
	fsfd, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fsfd) // only a handle
	for _, option := range []struct{ name, value string }{
		{"source", "cache"}, {"lowerdir", lower}, {"upperdir", named(fds[0])}, {"workdir", named(fds[1])}, {"index", "off"},
	} {
		if err := unix.FsconfigSetString(fsfd, option.name, option.value); err != nil {
			return -1, err
		}
	}
	for _, flag := range []string{"userxattr", "volatile"} {
		if err := unix.FsconfigSetFlag(fsfd, flag); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fsfd); err != nil {
		return -1, err
	}
	// The kernel denies access to its folders even to their owner, who could not remove them.
	for _, name := range []string{"work", "work/incompat", "work/incompat/volatile"} {
		unix.Fchmodat(fds[1], name, 0o700, 0) // not every kernel makes all of them
	}
	return unix.Fsmount(fsfd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|flags)
}
