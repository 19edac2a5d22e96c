//go:build unix

package gitguard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of a walk. A workspace beyond them is not looked at as a whole, which is reported.
const (
	walkFolders = 500_000
	walkDepth   = 200
	walkTime    = 20 * time.Second
)

// walker finds the git folders and the settings of editors, shells and agents below one root, at
// any depth. It never leaves the root by a link. It reads an unchanged folder only once. It is not
// safe for concurrent use.
type walker struct {
	root    string
	brief   bool // folders of dependencies are taken as they were at the last walk
	top     node
	folders int
	until   time.Time
	cut     bool // a bound was met
}

// node caches a folder.
type node struct {
	name    string
	dev     uint64
	ino     uint64
	changed int64 // nanoseconds; 0: not read yet, or it may change without a new stamp
	dirs    []node
	named   []string // interesting entries
	git     bool     // an entry .git, of whatever kind
	bare    bool     // git itself would take the folder for a repository
}

// sight is the result of a walk.
type sight struct {
	git   []string // paths of .git entries, and of bare repositories
	named []string // paths of settings entries
	cut   bool     // the walk was ended by a bound: there may be more
}

// look walks. A brief walk skips known folders of dependencies.
func (w *walker) look(brief bool) (s sight) {
	w.brief = brief
	w.folders, w.cut, w.until = 0, false, time.Now().Add(walkTime)
	fd, err := openListable(unix.AT_FDCWD, w.root, 0)
	if err != nil {
		s.cut = !errors.Is(err, unix.ENOENT)
		return s
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd) // only read
		return s
	}
	w.visit(fd, &w.top, &st, 0)
	w.collect(&w.top, w.root, &s)
	s.cut = w.cut
	return s
}

// visit updates the node of an open folder, and the nodes below, and closes the folder.
func (w *walker) visit(fd int, n *node, st *unix.Stat_t, depth int) {
	defer func() {
		if fd >= 0 {
			unix.Close(fd) // only read
		}
	}()
	if w.folders++; w.folders > walkFolders || depth > walkDepth || w.folders%256 == 0 && time.Now().After(w.until) {
		w.cut = true
	}
	if w.cut {
		return
	}
	if !n.same(st) {
		read, err := w.read(fd, n)
		if err != nil && !errors.Is(err, io.EOF) {
			w.cut = true
			return
		}
		*n = read
		n.dev, n.ino, n.changed = uint64(st.Dev), st.Ino, stamp(st) // other systems have other types
	}
	for i := range n.dirs {
		w.below(fd, &n.dirs[i], depth+1)
	}
}

func (w *walker) below(fd int, n *node, depth int) {
	if w.brief && n.changed != 0 && slices.Contains(dependencies, n.name) {
		return
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, n.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		*n = node{name: n.name} // gone since: the folder around it has changed, too
		return
	}
	if len(n.dirs) == 0 && n.same(&st) {
		if w.folders++; w.folders > walkFolders {
			w.cut = true
		}
		return
	}
	sub, err := openListable(fd, n.name, unix.O_NOFOLLOW)
	if err != nil {
		// If it cannot be entered either, git finds nothing in it.
		if !errors.Is(err, unix.EACCES) || unix.Faccessat(fd, n.name, unix.X_OK, unix.AT_EACCESS) == nil {
			w.cut = w.cut || !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP)
		}
		return
	}
	if err := unix.Fstat(sub, &st); err != nil {
		unix.Close(sub) // only read
		return
	}
	w.visit(sub, n, &st, depth)
}

// openListable opens a folder. If it is ours and can be entered but not listed, it makes it
// listable: git finds the entries of such a folder by their names.
func openListable(dir int, name string, flags int) (fd int, err error) {
	flags |= unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NONBLOCK
	fd, err = unix.Openat(dir, name, flags, 0)
	if !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&0o100 == 0 {
		return -1, err
	}
	if unix.Fchmodat(dir, name, uint32(st.Mode&0o7777|listable), unix.AT_SYMLINK_NOFOLLOW) != nil {
		return -1, err
	}
	return unix.Openat(dir, name, flags, 0)
}

func (n *node) same(st *unix.Stat_t) bool {
	return n.changed != 0 && n.ino == st.Ino && n.dev == uint64(st.Dev) && n.changed == stamp(st) // see above
}

// stamp returns the change time of a folder. If the change is so recent that another could have the
// same stamp, it returns 0.
func stamp(st *unix.Stat_t) int64 {
	at := time.Unix(st.Ctim.Unix())
	if age := time.Since(at); age < clockStep {
		return 0
	}
	return at.UnixNano()
}

// read lists a folder, and keeps the nodes of the folders in it.
func (w *walker) read(fd int, old *node) (n node, err error) {
	n.name = old.name
	known := old.dirs
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return n, err
	}
	f := os.NewFile(uintptr(dup), fmt.Sprintf("/proc/self/fd/%d", dup)) // a name for finding types missing in the listing
	defer f.Close()                                                     // only read
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return n, err
	}
	for head, common, objects, refs := false, false, false, false; ; {
		entries, err := f.ReadDir(1024)
		for _, e := range entries {
			name := e.Name()
			head, common = head || name == "HEAD", common || name == "commondir"
			objects, refs = objects || name == "objects", refs || name == "refs"
			switch {
			case strings.EqualFold(name, ".git"):
				n.git = true
				continue
			case interesting(name):
				n.named = append(n.named, name)
			}
			if e.Type()&fs.ModeType == fs.ModeDir {
				n.dirs = append(n.dirs, node{name: name})
			}
		}
		if err != nil {
			n.bare = head && (objects && refs || common) // git finds both where commondir leads
			n.dirs = slices.Clip(n.dirs)
			n.keep(known)
			return n, err
		}
	}
}

// keep keeps known nodes, by their names.
func (n *node) keep(known []node) {
	byName := make(map[string]int, len(known))
	for i := range known {
		byName[known[i].name] = i
	}
	for i := range n.dirs {
		if at, ok := byName[n.dirs[i].name]; ok {
			n.dirs[i] = known[at]
		}
	}
}

func (w *walker) collect(n *node, path string, s *sight) {
	if n.git {
		s.git = append(s.git, path+"/.git")
	}
	if n.bare {
		s.git = append(s.git, path)
	}
	for _, name := range n.named {
		s.named = append(s.named, path+"/"+name)
	}
	for i := range n.dirs {
		w.collect(&n.dirs[i], path+"/"+n.dirs[i].name, s)
	}
}
