package confine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// place is a mount to make. A path is mounted after the folders around it. On the same path, later
// kinds are mounted above earlier ones.
type place struct {
	path string
	kind int
	fd   int // the tree to attach; -1: made where it is
}

const (
	temp = iota
	hidden
	folder
	writable
	visible
	pinned
	link
	readOnly
	frozen
)

// mount makes everything read-only, and then mounts the plan's paths. The trees are opened before,
// so each keeps its flags, and a path hidden by another mount can still be shown.
func (p *Plan) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	places, err := p.take()
	if err != nil {
		return err
	}
	stand, err := p.standIns()
	if err != nil {
		return err
	}
	nodes, err := devices()
	if err != nil {
		return err
	}
	for kind, paths := range map[int][]string{hidden: p.Hidden, pinned: p.Pinned, link: p.Links, readOnly: p.ReadOnly} {
		for _, path := range paths {
			places = append(places, place{path, kind, -1})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.kind, b.kind))
	})
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID,
	}); err != nil {
		return fmt.Errorf("making everything read-only: %w", err)
	}
	for _, pl := range places {
		if err := p.attach(pl, &stand); err != nil {
			return err
		}
	}
	for _, fd := range stand.open { // until the mount points within were made
		if err := seal(fd, ""); err != nil {
			return fmt.Errorf("making a hidden folder read-only: %w", err)
		}
	}
	if err := p.mountDev(nodes); err != nil {
		return err
	}
	return p.mountProc()
}

// take opens the trees to attach.
func (p *Plan) take() ([]place, error) {
	places, err := p.layers()
	if err != nil {
		return nil, err
	}
	for _, list := range []struct {
		kind  int
		paths []string
	}{{writable, p.Writable}, {visible, p.Visible}} {
		for _, path := range list.paths {
			fd, err := tree(path)
			switch {
			case gone(err):
				continue
			case err != nil:
				return nil, fmt.Errorf("taking %s: %w", path, err)
			}
			places = append(places, place{path, list.kind, fd})
		}
	}
	for _, path := range p.TempAt {
		fd, err := tree(p.Temp)
		if err != nil {
			return nil, fmt.Errorf("taking the session's folder for temporary files: %w", err)
		}
		places = append(places, place{path, temp, fd})
	}
	for _, list := range []struct {
		kind   int
		copies []Copy
	}{{frozen, p.Copies}, {folder, p.Folders}, {writable, p.Binds}} {
		for _, c := range list.copies {
			fd, err := tree(c.From)
			if err != nil {
				return nil, fmt.Errorf("taking what stands in for %s: %w", c.At, err)
			}
			places = append(places, place{c.At, list.kind, fd})
		}
	}
	return places, nil
}

// standIns are the replacements for hidden files and folders, opened before the hiding.
type standIns struct {
	file, folder int
	open         []int // still writable empty folders
}

func (p *Plan) standIns() (s standIns, err error) {
	s = standIns{file: -1, folder: -1}
	if len(p.Hidden) == 0 {
		return s, nil
	}
	if s.file, err = unix.Open(p.Blank, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return s, fmt.Errorf("taking what stands in for hidden files: %w", err)
	}
	if s.folder, err = unix.Open(p.Nothing, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return s, fmt.Errorf("taking what stands in for hidden folders: %w", err)
	}
	return s, nil
}

// attach makes a mount.
func (p *Plan) attach(pl place, stand *standIns) error {
	var err error
	switch pl.kind {
	case temp, writable:
		err = attach(pl.fd, pl.path)
	case visible, frozen:
		if err = readonly(pl.fd); err == nil {
			err = attach(pl.fd, pl.path)
		}
	case pinned, readOnly:
		err = again(pl.path, pl.kind == readOnly)
	case link:
		err = againLink(pl.path)
	case hidden:
		err = p.hide(pl.path, stand)
	case folder:
		err = stand.folderOf(pl)
	}
	if gone(err) && (pl.kind == hidden || pl.kind > writable && pl.kind != frozen) {
		return nil
	}
	if pl.kind == writable && (gone(err) || errors.Is(err, unix.EROFS)) {
		return nil // removed since the plan was made, as an unused cache is: there is nothing to write
	}
	if err != nil {
		return fmt.Errorf("mounting on %s: %w", pl.path, err)
	}
	return nil
}

// folderOf mounts a folder of ours over another. It becomes read-only after the mount points within
// are made.
func (s *standIns) folderOf(pl place) error {
	fd, err := unix.FcntlInt(uintptr(pl.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.open = append(s.open, fd)
	return attach(pl.fd, pl.path)
}

// again mounts a path on itself.
func again(path string, ro bool) error {
	at, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return err
	}
	defer unix.Close(at) // only a handle
	fd, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // only a handle
	if ro {
		if err := readonly(fd); err != nil {
			return err
		}
	}
	return unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// againLink mounts a symbolic link on itself. It leads where it did, but cannot be removed
// or replaced.
func againLink(path string) error {
	at, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return err
	}
	defer unix.Close(at) // only a handle
	fd, err := unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd) // only a handle
	return unix.MoveMount(fd, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

func (p *Plan) hide(path string, stand *standIns) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		if gone(err) {
			return nil
		}
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR && p.shownWithin(path) {
		if err := unix.Mount("hidden", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err != nil {
			return err
		}
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		stand.open = append(stand.open, fd)
		return err
	}
	from := stand.file
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		from = stand.folder
	}
	fd, err := unix.OpenTree(from, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	if err := readonly(fd); err != nil {
		return err
	}
	return attach(fd, path)
}

// shownWithin reports whether something below a hidden folder is shown after all.
func (p *Plan) shownWithin(dir string) bool {
	within := func(path string) bool { return strings.HasPrefix(path, dir+"/") }
	if slices.ContainsFunc(p.Visible, within) || slices.ContainsFunc(p.Writable, within) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(p.Folders, p.Binds, p.Layers), func(c Copy) bool { return within(c.At) })
}

// tree opens the mount at a path, with all mounts below. A symbolic link on the way
// is an error: it was put there after the plan was made.
func tree(path string) (fd int, err error) {
	at, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, err
	}
	defer unix.Close(at) // only a handle
	return unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
}

func readonly(fd int) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID,
	})
}

// seal makes a mount read-only, but not the mounts within it. The mount is named by a path, or by a
// descriptor and an empty path.
func seal(fd int, path string) error {
	return unix.MountSetattr(fd, path, unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// attach mounts a tree on a path. If another mount has hidden the path, attach makes it there: in
// the session's own folder or an empty tmpfs.
func attach(fd int, path string) error {
	defer unix.Close(fd) // only a handle
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		if err := mountPoint(fd, path); err != nil {
			return err
		}
	}
	return unix.MoveMount(fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func mountPoint(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// node is a device of the host.
type node struct {
	name string
	fd   int
}

// deviceNames returns the names of harmless devices and compute devices. Disks, memory and other
// terminals are left out, which matters if we are root.
func deviceNames() []string {
	names := []string{"null", "zero", "full", "random", "urandom", "tty", "dri", "kfd"}
	nvidia, _ := filepath.Glob("/dev/nvidia*")
	for _, path := range nvidia {
		names = append(names, filepath.Base(path))
	}
	return names
}

func devices() (nodes []node, err error) {
	for _, name := range deviceNames() {
		fd, err := tree("/dev/" + name)
		switch {
		case gone(err):
		case err != nil:
			return nil, fmt.Errorf("taking /dev/%s: %w", name, err)
		default:
			nodes = append(nodes, node{name, fd})
		}
	}
	return nodes, nil
}

func (p *Plan) mountDev(nodes []node) error {
	const safe = unix.MS_NOSUID | unix.MS_NOEXEC
	if err := unix.Mount("dev", "/dev", "tmpfs", safe, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("mounting /dev: %w", err)
	}
	for _, n := range nodes {
		if err := attach(n.fd, "/dev/"+n.name); err != nil {
			return fmt.Errorf("mounting /dev/%s: %w", n.name, err)
		}
	}
	for _, dir := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", dir, err)
		}
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", safe, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("mounting /dev/pts: %w", err)
	}
	if err := unix.Mount("shm", "/dev/shm", "tmpfs", safe|unix.MS_NODEV, p.shm()); err != nil {
		return fmt.Errorf("mounting /dev/shm: %w", err)
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, "/dev/"+name); err != nil {
			return fmt.Errorf("making /dev/%s: %w", name, err)
		}
	}
	return seal(unix.AT_FDCWD, "/dev")
}

// shm is shared memory, which no count of a process's memory holds.
func (p *Plan) shm() string {
	if p.ShmMB <= 0 {
		return "mode=1777"
	}
	return fmt.Sprintf("mode=1777,size=%dm", p.ShmMB)
}

// kernelFiles are places in /proc with which root can change or see the whole machine; root's
// number is the same inside.
var kernelFiles = []string{
	"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "latency_stats", "timer_list",
}

// mountProc shows the processes of the namespace alone.
func (p *Plan) mountProc() error {
	if !p.Processes {
		return nil // the host's, read-only by now
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range kernelFiles {
		if err := again("/proc/"+name, true); err != nil && !gone(err) {
			return fmt.Errorf("making /proc/%s read-only: %w", name, err)
		}
	}
	for _, name := range []string{"kcore", "kmsg", "keys"} {
		fd, err := tree("/dev/null")
		if err == nil {
			err = attach(fd, "/proc/"+name)
		}
		if err != nil && !gone(err) && !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) {
			return fmt.Errorf("hiding /proc/%s: %w", name, err)
		}
	}
	return nil
}
