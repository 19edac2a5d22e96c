package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Bounds of what git keeps in one folder: submodules and worktrees.
const (
	modulesDepth = 12
	modulesLimit = 5000
)

// repository is a folder in which git keeps a repository, a submodule or a worktree.
type repository struct {
	dir    string // without links
	main   string // for a submodule or a worktree: the repository that it is kept in
	common bool   // has settings of its own; else it is a worktree's
	// unfinished is set if git may still be making it.
	unfinished bool
}

// entry is an entry .git that leads to a repository.
type entry struct {
	path  string
	dir   string   // where it leads
	links []string // that it is, or that lie on the way
	file  bool     // a file that names the folder
}

// open opens a folder, which commands may have made. If it lies in a root, no link leads out
// of that.
func open(dir string, roots []string) (*os.Root, error) {
	for _, root := range roots {
		if !under(dir, root) {
			continue
		}
		top, err := safefile.OpenRoot(root)
		if err != nil || dir == root {
			return top, err
		}
		defer top.Close() //nolint:errcheck // only read
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			return nil, err
		}
		return safefile.OpenRootIn(top, rel)
	}
	return safefile.OpenRoot(dir)
}

// read returns what a small file below a folder holds. If it is no regular file, or too
// large, it returns a text that says so and that no file has. If there is none, ok is false.
func read(root *os.Root, name string) (text string, ok bool) {
	content, err := safefile.ReadIn(root, name, safefile.Line)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false
	case err != nil:
		return "\x00" + err.Error(), true
	}
	return string(content), true
}

// pathIn returns the path in a file of one line, relative to a folder.
func pathIn(text, prefix, folder string) (path string, ok bool) {
	line, found := strings.CutPrefix(strings.TrimSpace(text), prefix)
	line = strings.TrimSpace(line)
	if !found || line == "" || len(line) > 4096 || strings.ContainsRune(line, 0) {
		return "", false
	}
	if !filepath.IsAbs(line) {
		line = filepath.Join(folder, line)
	}
	real, err := filepath.EvalSymlinks(line)
	return real, err == nil
}

// pointer reads a path, relative to a folder, from a file of one line.
func pointer(file, prefix, folder string) (path string, ok bool) {
	text, err := safefile.Read(file, safefile.Line)
	if err != nil {
		return "", false
	}
	return pathIn(string(text), prefix, folder)
}

// entryAt looks at an entry .git, or at a folder that is a repository itself.
func entryAt(path string, roots []string) (e entry, ok bool) {
	e.path = path
	info, err := os.Lstat(path)
	if err != nil {
		return e, false
	}
	switch {
	case info.IsDir():
		e.dir = path
	case info.Mode()&fs.ModeSymlink != 0:
		real, links, found := follow(path)
		e.dir, e.links = real, links
		if info, err := os.Lstat(real); !found || err != nil || !info.IsDir() {
			e.dir = ""
		}
	case info.Mode().IsRegular():
		e.file = true
		folder := filepath.Dir(path)
		if root, err := open(folder, roots); err == nil {
			text, _ := read(root, filepath.Base(path))
			e.dir, _ = pathIn(text, "gitdir:", folder)
			root.Close() //nolint:errcheck // only read
		}
	default:
		return e, false
	}
	return e, true
}

// found are the repositories of the roots, and the entries that lead to them.
type found struct {
	entries  []entry
	repos    []repository
	cut      []string // what could not be looked at as a whole
	writable []string // the folders that commands may write
	roots    []string
	known    map[string]bool
}

// add adds a repository, if commands may write it.
func (f *found) add(dir, main string, common bool) {
	if dir == "" || f.known[dir] || !underAny(dir, f.writable) {
		return
	}
	f.known[dir] = true
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	r := repository{dir: dir, main: main, common: common}
	if root, err := open(dir, f.roots); err == nil {
		r.unfinished = unfinished(root, time.Now())
		root.Close() //nolint:errcheck // only read
	}
	f.repos = append(f.repos, r)
}

// unfinishedAge is how long git may be making a repository.
const unfinishedAge = 10 * time.Minute

// unfinished reports whether git may still be making a repository: it is young, and holds a
// lock, receives a pack, or has no branch.
func unfinished(root *os.Root, now time.Time) bool {
	if born, known := bornAt(root); known && now.Sub(born) > unfinishedAge {
		return false
	}
	for _, pattern := range []string{"*.lock", "objects/pack/tmp_*"} {
		if found, _ := fs.Glob(safefile.Folders(root), pattern); len(found) > 0 {
			return true
		}
	}
	_, err := root.Lstat("packed-refs")
	branches, unread := fs.ReadDir(safefile.Folders(root), "refs/heads")
	return err != nil && unread == nil && len(branches) == 0
}

// isUnfinished reports whether git may still be making the repository in dir.
func (f *found) isUnfinished(dir string) bool {
	return slices.ContainsFunc(f.repos, func(r repository) bool { return r.dir == dir && r.unfinished })
}

// find looks at what a walk has found, at the repositories around the roots, and at what
// they keep of submodules and worktrees.
func find(paths, roots []string) (f found) {
	f.roots, f.known, f.writable = roots, map[string]bool{}, append(existing(outside(roots)), roots...)
	for _, root := range roots {
		f.add(around(root), "", true)
	}
	for _, path := range paths {
		e, ok := entryAt(path, roots)
		if !ok {
			continue
		}
		f.entries = append(f.entries, e)
		shared := ""
		if e.file && e.dir != "" {
			shared, _ = pointer(filepath.Join(e.dir, "commondir"), "", e.dir)
		}
		f.add(e.dir, shared, shared == "")
		f.add(shared, "", true)
	}
	for i := 0; i < len(f.repos); i++ { // it grows
		r := f.repos[i]
		if root, err := open(r.dir, roots); err == nil {
			f.within(root, r.dir)
			root.Close() //nolint:errcheck // only read
		}
	}
	return f
}

// ofOneModule are the large folders of a repository, in which no other one lies.
var ofOneModule = []string{"objects", "refs", "logs", "hooks", "info", "modules", "lfs", "rr-cache"}

// within adds the submodules and worktrees that a repository keeps.
func (f *found) within(root *os.Root, dir string) {
	trees, _ := fs.ReadDir(safefile.Folders(root), "worktrees")
	for _, t := range trees[:min(len(trees), modulesLimit)] {
		if t.IsDir() {
			f.add(filepath.Join(dir, "worktrees", t.Name()), dir, false)
		}
	}
	if _, err := root.Lstat("modules"); err != nil {
		return
	}
	count := 0
	err := fs.WalkDir(safefile.Folders(root), "modules", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil
		case strings.Count(path, "/") > modulesDepth:
			f.cut = append(f.cut, filepath.Join(dir, path))
			return fs.SkipDir
		}
		if count++; count > modulesLimit {
			f.cut = append(f.cut, filepath.Join(dir, "modules"))
			return fs.SkipAll
		}
		if _, err := root.Lstat(path + "/HEAD"); err == nil {
			f.add(filepath.Join(dir, path), dir, true) // its own modules are found in turn
			return nil
		}
		if slices.Contains(ofOneModule, d.Name()) && f.known[filepath.Join(dir, filepath.Dir(path))] {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		f.cut = append(f.cut, filepath.Join(dir, "modules"))
	}
}

// around is the repository that a root is a folder of; empty: none, or the root's
// own.
func around(root string) string {
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		return ""
	}
	for dir := filepath.Dir(root); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".git")
		if info, err := os.Lstat(path); err == nil {
			if info.IsDir() && sameOwner(dir, root) && complete(path) {
				return path
			}
			return ""
		}
	}
	return ""
}

// complete reports whether git itself would take a folder for a repository.
func complete(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// outside are the repositories of roots that lie outside of them, and that git
// has to write when something is committed. A file .git is part of the workspace, and could
// name any folder: see [gitrepo.At].
func outside(roots []string) (dirs []string) {
	for _, root := range roots {
		if dir := around(root); dir != "" {
			dirs = append(dirs, dir)
		}
		r, err := gitrepo.At(root)
		if err != nil || underAny(r.GitDir, roots) {
			continue
		}
		dirs = append(dirs, r.GitDir)
		if r.Common != r.GitDir && complete(r.Common) {
			dirs = append(dirs, r.Common)
		}
	}
	return dirs
}
