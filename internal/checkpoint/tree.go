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
	"sync"
	"time"
)

// tree is the state of all folders of a workspace at a moment.
type tree struct {
	file    stamp        // of its file, read or written; zero: none
	began   int64        // when the scan began
	stamped int64        // when the scan began, by the clock of file stamps
	swept   stamp        // of the store's sweptFile when the contents were certainly in the store
	mu      sync.RWMutex // of later changes of entries, for [Keeper.Earlier]
	entries map[string]entry
	repos   []repo // repositories of entries
}

// entry describes a path of a tree.
type entry struct {
	stamp
	link string
	// sum is the sum of a file's content; zero: the content was not read.
	sum    [32]byte
	readAt int64 // when the content was read
	kept   bool  // the content is in the store
	// git is the id of the content's object in the repository with the number repo. Numbers
	// begin at 1; 0: none.
	git  [20]byte
	repo uint16
	lost string // why the content is not available
}

// stamp is the metadata of a file by which a change is detected.
type stamp struct {
	Size, Modified, Changed int64
	Inode                   uint64
	Mode                    uint32
}

// settling is how long a file must be unchanged before its stamp is trusted: the tick of a
// clock, and a margin for file systems with coarse times.
const settling = 20 * time.Millisecond

// settled reports whether a content read at readAt certainly belongs to the stamp: each later
// change would have changed the stamp.
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

// safe reports whether the content is available even if the file is deleted.
func (e entry) safe() bool { return e.kind() != kindFile || e.kept || e.repo > 0 }

func (e entry) hasSum() bool { return e.sum != [32]byte{} }

// state returns the entry as a State. If the content is only in git, Sum is empty.
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

// saved is a tree in its stored form, by columns.
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

// save writes a tree to the file with the given name.
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

// fileStamp returns the stamp of a file of the store. If the file does not exist, it returns the
// zero stamp.
func fileStamp(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stampOf(info)
}

// pin gives the stored tree from a second name, which later saves do not replace. If the file
// cannot be linked, it writes the tree again.
func (s *Store) pin(t *tree, from, name string) error {
	if t.file != (stamp{}) && fileStamp(s.treeFile(from)) == t.file && os.Link(s.treeFile(from), s.treeFile(name)) == nil {
		t.file = fileStamp(s.treeFile(from)) // a new hard link changes the stamp
		return nil
	}
	return s.save(&tree{began: t.began, entries: t.entries, repos: t.repos}, name)
}

// load reads the tree with the given name. If the file is missing or damaged, it returns an
// error.
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

// newest returns the file name of the newest tree of a workspace with these folders.
func newest(folders []string) string {
	return sumOf([]byte(strings.Join(folders, "\x00")))[:32]
}
