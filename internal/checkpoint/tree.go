package checkpoint

import (
	"bytes"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tree is the state of all folders of a workspace at one moment.
type tree struct {
	file    stamp // of the file that it was read from or written to; zero: none
	began   int64 // when the look at the folders began
	stamped int64 // the same, by the clock of files' stamps
	entries map[string]entry
	repos   []repo // that entries come from
}

// entry is what a tree knows of one path.
type entry struct {
	stamp
	link string
	// sum is of a file's content; zero: it was not read.
	sum    [32]byte
	readAt int64 // when the content was read
	kept   bool  // and the content is in the store
	// git is the content's name in the repository before of which repo counts, from 1.
	git  [20]byte
	repo uint16
	lost string // why the content can be had from nowhere
}

// stamp is what the file system says of a file.
type stamp struct {
	Size, Modified, Changed int64
	Inode                   uint64
	Mode                    uint32
}

// settling is how long a file must have been left alone before a stamp is trusted:
// a clock's tick, and some more for file systems that count in coarse steps.
const settling = 20 * time.Millisecond

// settled reports whether a content that was read at a time is the one that the
// stamp belongs to for good: a later change would have changed the stamp.
func (s stamp) settled(readAt int64) bool { return s.Changed < readAt-int64(settling) }

func (e entry) kind() string {
	switch mode := fs.FileMode(e.Mode); {
	case mode.IsDir():
		return kindFolder
	case mode&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindFile
}

// safe reports whether the content can be had even if the file is gone.
func (e entry) safe() bool { return e.kind() != kindFile || e.kept || e.repo > 0 }

func (e entry) hasSum() bool { return e.sum != [32]byte{} }

// state is the entry in words that are kept; the sum of what git has is not known.
func (e entry) state() State {
	s := State{Kind: e.kind(), Mode: uint32(fs.FileMode(e.Mode).Perm())}
	switch s.Kind {
	case kindLink:
		return State{Kind: kindLink, Link: e.link}
	case kindFile:
		s.Size, s.Lost = e.Size, e.lost
		if e.hasSum() && e.lost == "" {
			s.Sum = hex.EncodeToString(e.sum[:])
		}
	}
	return s
}

// saved is a tree on the disk, by columns.
type saved struct {
	Paths                                   string // each ended by NUL
	Sizes, Modified, Changed, Inode, ReadAt []int64
	Modes                                   []uint32
	Links                                   map[int]string
	Lost                                    map[int]string
	Sums, Git                               []byte
	Repos                                   []uint16
	Kept                                    []bool
	From                                    []repo
	Began                                   int64
}

func (s *Store) treeFile(name string) string { return filepath.Join(s.dir, "trees", name) }

// save writes a tree under a name.
func (s *Store) save(t *tree, name string) error {
	n := len(t.entries)
	out := saved{
		Sizes: make([]int64, 0, n), Modified: make([]int64, 0, n), Changed: make([]int64, 0, n), Inode: make([]int64, 0, n), ReadAt: make([]int64, 0, n),
		Modes: make([]uint32, 0, n), Repos: make([]uint16, 0, n), Kept: make([]bool, 0, n),
		Sums: make([]byte, 0, 32*n), Git: make([]byte, 0, 20*n),
		Links: map[int]string{}, Lost: map[int]string{}, From: t.repos, Began: t.began,
	}
	var paths strings.Builder
	i := 0
	for path, e := range t.entries {
		paths.WriteString(path)
		paths.WriteByte(0)
		out.Sizes, out.Modified, out.Changed = append(out.Sizes, e.Size), append(out.Modified, e.Modified), append(out.Changed, e.Changed)
		out.Inode, out.Modes = append(out.Inode, int64(e.Inode)), append(out.Modes, e.Mode)
		out.ReadAt = append(out.ReadAt, e.readAt)
		out.Repos, out.Kept = append(out.Repos, e.repo), append(out.Kept, e.kept)
		out.Sums, out.Git = append(out.Sums, e.sum[:]...), append(out.Git, e.git[:]...)
		if e.link != "" {
			out.Links[i] = e.link
		}
		if e.lost != "" {
			out.Lost[i] = e.lost
		}
		i++
	}
	out.Paths = paths.String()
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(out); err != nil {
		return fmt.Errorf("writing down the workspace: %w", err)
	}
	if err := writeAtomic(s.treeFile(name), buf.Bytes()); err != nil {
		return fmt.Errorf("writing down the workspace: %w", err)
	}
	t.file = fileStamp(s.treeFile(name))
	return nil
}

// fileStamp is the stamp of a file of our own; zero: it is not there.
func fileStamp(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stampOf(info)
}

// pin gives a tree that lies under one name another one, which stays.
func (s *Store) pin(t *tree, from, name string) error {
	if t.file != (stamp{}) && fileStamp(s.treeFile(from)) == t.file && os.Link(s.treeFile(from), s.treeFile(name)) == nil {
		t.file = fileStamp(s.treeFile(from)) // a further name is a change, to the system
		return nil
	}
	return s.save(&tree{began: t.began, entries: t.entries, repos: t.repos}, name)
}

// load reads a tree.
func (s *Store) load(name string) (*tree, error) {
	file := fileStamp(s.treeFile(name))
	data, err := os.ReadFile(s.treeFile(name))
	if err != nil {
		return nil, fmt.Errorf("reading what was written down of the workspace: %w", err)
	}
	var in saved
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&in); err != nil {
		return nil, fmt.Errorf("reading what was written down of the workspace: %w", err)
	}
	n := len(in.Sizes)
	if len(in.Modified) != n || len(in.Changed) != n || len(in.Inode) != n || len(in.ReadAt) != n || len(in.Modes) != n || len(in.Repos) != n ||
		len(in.Kept) != n || len(in.Sums) != 32*n || len(in.Git) != 20*n || strings.Count(in.Paths, "\x00") != n {
		return nil, fmt.Errorf("reading what was written down of the workspace: it is damaged")
	}
	t := &tree{file: file, entries: make(map[string]entry, n), repos: in.From, began: in.Began, stamped: in.Began - lag}
	rest := in.Paths
	for i := range n {
		var path string
		path, rest, _ = strings.Cut(rest, "\x00")
		e := entry{
			stamp: stamp{in.Sizes[i], in.Modified[i], in.Changed[i], uint64(in.Inode[i]), in.Modes[i]},
			link:  in.Links[i], lost: in.Lost[i], readAt: in.ReadAt[i], kept: in.Kept[i], repo: in.Repos[i],
		}
		copy(e.sum[:], in.Sums[32*i:])
		copy(e.git[:], in.Git[20*i:])
		if int(e.repo) > len(t.repos) {
			e.repo = 0
		}
		t.entries[path] = e
	}
	return t, nil
}

// newest is the name of the newest tree of a workspace's folders.
func newest(folders []string) string {
	return sumOf([]byte(strings.Join(folders, "\x00")))[:32]
}
