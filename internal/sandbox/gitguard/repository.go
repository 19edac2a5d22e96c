package gitguard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Bounds of the submodules and worktrees in a folder.
const (
	modulesDepth = 12
	modulesLimit = 5000
)

// repository is a folder in which git keeps a repository, a submodule or a worktree.
type repository struct {
	dir    string // without links
	main   string // for a submodule or a worktree: the repository around it
	common bool   // has separate settings; else it is a worktree's
	// unfinished is set if git may still be making it.
	unfinished bool
	// commondir is the content of the file of this name, and at is where it leads. If git would not
	// make such a file, commondir begins with a NUL character.
	commondir, at string
}

// entry is a .git entry, which leads to a repository.
type entry struct {
	path  string
	dir   string   // where it leads
	at    string   // for a link and for a file: where it leads, even if there is nothing
	links []string // the entry itself, or on the way
	file  bool     // a file naming the folder
	text  string   // of the file
}

// open opens a folder, which commands may have made. If it lies in a root, no link leads out of the
// root.
func open(dir string, roots []string) (*os.Root, error) {
	for _, root := range roots {
		if !fspath.Under(dir, root) {
			continue
		}
		top, err := safefile.OpenRoot(root)
		if err != nil || dir == root {
			return top, err
		}
		defer top.Close() // only read
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			return nil, err
		}
		sub, err := safefile.OpenRootIn(top, rel)
		if errors.Is(err, fs.ErrPermission) {
			parts := strings.Split(rel, string(filepath.Separator))
			for i := range parts { // from above: each is needed to open the next
				listerOf(top).ReadDir(filepath.Join(parts[:i+1]...)) // shows when the folder is opened
			}
			return safefile.OpenRootIn(top, rel)
		}
		return sub, err
	}
	return safefile.OpenRoot(dir)
}

// read returns the content of a small file below a folder. If it is no regular file, or too large,
// it returns the reason after a NUL character. If the file is missing, ok is false.
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

// pointed returns the path in a one-line file of git, without the end of line. A relative path is
// joined to folder. git keeps spaces, and ends at a NUL character. If the text is no such line, ok
// is false.
func pointed(text, prefix, folder string) (path string, ok bool) {
	text, _, _ = strings.Cut(strings.TrimRight(text, "\r\n"), "\x00")
	path, found := strings.CutPrefix(text, prefix)
	if !found || path == "" || len(path) > mostPath {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = folder + "/" + path // not cleaned: there may be links before ".."
	}
	return path, true
}

// mostPath is the kernel's limit for the length of a path.
const mostPath = 4096

// gitdirPrefix begins a file .git.
const gitdirPrefix = "gitdir: "

// lister lists the folders below root. In an unlistable folder of ours, git finds entries by their
// names, so lister makes the folder listable.
type lister struct {
	fs.FS
	root *os.Root
}

func listerOf(root *os.Root) lister { return lister{safefile.Folders(root), root} }

func (l lister) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(l.FS, name)
	if !errors.Is(err, fs.ErrPermission) {
		return entries, err
	}
	info, statErr := l.root.Lstat(name)
	if statErr != nil || !info.IsDir() || l.root.Chmod(name, info.Mode().Perm()|listable) != nil {
		return entries, err
	}
	return fs.ReadDir(l.FS, name)
}

func (l lister) Stat(name string) (fs.FileInfo, error) { return fs.Stat(l.FS, name) }

// listable is the mode with which the owner of a folder can list it and open its entries.
const listable = 0o500

// entryAt reads a .git entry, or a bare repository.
func entryAt(path string, roots []string) (e entry, ok bool) {
	e.path = path
	info, err := os.Lstat(path)
	if err != nil {
		return e, false
	}
	file := path
	if info.Mode()&fs.ModeSymlink != 0 {
		real, links, _ := fspath.Follow(path)
		e.at, e.links = real, links
		if info, err = os.Lstat(real); err != nil {
			return e, true // it leads nowhere yet
		}
		file = real
	}
	switch {
	case info.IsDir():
		e.dir = file
	case info.Mode().IsRegular():
		e.file = true
		text, ok := readAt(file, roots)
		if !ok {
			return e, true
		}
		if e.text = text; strings.ContainsRune(text, 0) {
			e.text = "\x00" + text // nothing but an attack writes it
		}
		if target, ok := pointed(text, gitdirPrefix, filepath.Dir(path)); ok { // of the link, as git does
			real, links, found := fspath.Follow(target)
			e.at, e.links = real, append(e.links, links...)
			if found {
				e.dir = real
			}
		}
	default:
		return e, false
	}
	return e, true
}

// readAt is read for a file by its path.
func readAt(path string, roots []string) (text string, ok bool) {
	root, err := open(filepath.Dir(path), roots)
	if err != nil {
		return "\x00" + err.Error(), true
	}
	defer root.Close() // only read
	return read(root, filepath.Base(path))
}

// found holds the repositories of the roots, and the entries leading to them.
type found struct {
	entries  []entry
	repos    []repository
	cut      []string // incompletely scanned folders
	linked   []string // links in the place of submodules, which no git makes
	writable []string // folders writable for commands
	roots    []string
	known    map[string]bool
}

// add adds a repository, if commands may write it.
func (f *found) add(dir, main string) {
	if dir == "" || f.known[dir] || !fspath.UnderAny(dir, f.writable) {
		return
	}
	f.known[dir] = true
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	r := repository{dir: dir, main: main, common: true}
	if root, err := open(dir, f.roots); err == nil {
		r.unfinished = unfinished(root, time.Now())
		root.Close() // only read
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
		if found, _ := fs.Glob(listerOf(root), pattern); len(found) > 0 {
			return true
		}
	}
	_, err := root.Lstat("packed-refs")
	branches, unread := fs.ReadDir(listerOf(root), "refs/heads")
	return err != nil && unread == nil && len(branches) == 0
}

// isUnfinished reports whether git may still be making the repository in dir.
func (f *found) isUnfinished(dir string) bool {
	return slices.ContainsFunc(f.repos, func(r repository) bool { return r.dir == dir && r.unfinished })
}

// find reads the entries of a walk, the repositories around the roots, and their submodules and
// worktrees. writable lists the folders writable for commands.
func find(paths, roots, writable []string) (f found) {
	f.roots, f.known, f.writable = roots, map[string]bool{}, writable
	for _, root := range roots {
		f.add(Enclosing(root), "")
	}
	for _, path := range paths {
		e, ok := entryAt(path, roots)
		if !ok {
			continue
		}
		f.entries = append(f.entries, e)
		f.add(e.dir, "")
	}
	for i := 0; i < len(f.repos); i++ { // it grows
		r := &f.repos[i]
		root, err := open(r.dir, roots)
		if err != nil {
			f.cut = append(f.cut, r.dir)
			continue
		}
		if r.shared(root) {
			f.add(r.at, "")
		}
		f.within(root, f.repos[i].dir) // r may have moved
		root.Close()                   // only read
	}
	return f
}

// shared finds the common directory of a repository. If the repository shares nothing, it returns
// false.
func (r *repository) shared(root *os.Root) bool {
	info, err := root.Lstat("commondir")
	if err != nil {
		return false
	}
	r.commondir, _ = read(root, "commondir")
	target, ok := pointed(r.commondir, "", r.dir)
	if !ok || !info.Mode().IsRegular() || strings.ContainsRune(r.commondir, 0) { // git follows a link, and we do not
		r.commondir = "\x00" + r.commondir
		return false
	}
	r.at, _, _ = fspath.Follow(target)
	if filepath.Dir(r.dir) != filepath.Join(r.at, "worktrees") { // git makes no other
		r.commondir = "\x00" + r.commondir
		return true
	}
	r.main, r.common = r.at, false
	return true
}

// ofOneModule lists the large folders of a repository; none contains another repository.
var ofOneModule = []string{"objects", "refs", "logs", "hooks", "info", "modules", "lfs", "rr-cache"}

// within adds a repository's submodules and worktrees.
func (f *found) within(root *os.Root, dir string) {
	trees, err := fs.ReadDir(listerOf(root), "worktrees")
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(trees) > modulesLimit {
		f.cut = append(f.cut, filepath.Join(dir, "worktrees"))
	}
	for _, t := range trees[:min(len(trees), modulesLimit)] {
		if t.IsDir() {
			f.add(filepath.Join(dir, "worktrees", t.Name()), dir)
		}
	}
	top, err := root.Lstat("modules")
	if err != nil {
		return
	}
	if top.Mode()&fs.ModeSymlink != 0 {
		f.linked = append(f.linked, filepath.Join(dir, "modules"))
	}
	count := 0
	err = fs.WalkDir(listerOf(root), "modules", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			f.cut = append(f.cut, filepath.Join(dir, path))
			return fs.SkipDir
		case d.Type()&fs.ModeSymlink != 0:
			if real, _, ok := fspath.Follow(filepath.Join(dir, path)); !fspath.UnderAny(real, f.writable) {
				f.linked = append(f.linked, filepath.Join(dir, path))
			} else if _, err := os.Lstat(filepath.Join(real, "HEAD")); ok && err == nil {
				f.add(real, "")
			}
			return nil
		case !d.IsDir():
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
			f.add(filepath.Join(dir, path), dir) // its modules are found in turn
			return nil
		}
		if path != "modules" && slices.Contains(ofOneModule, d.Name()) && f.known[filepath.Join(dir, filepath.Dir(path))] {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		f.cut = append(f.cut, filepath.Join(dir, "modules"))
	}
}

// Enclosing returns the repository around root. If there is none, or root is a repository itself,
// it returns "".
func Enclosing(root string) string {
	if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
		return ""
	}
	for dir := filepath.Dir(root); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".git")
		if info, err := os.Lstat(path); err == nil {
			if info.IsDir() && fspath.SameOwner(dir, root) && complete(path) {
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

// Outside returns the repositories of roots outside of the roots. git writes them with each commit.
// A .git file is part of the workspace, and could name any folder: see [gitrepo.At].
func Outside(roots []string) (dirs []string) {
	for _, root := range roots {
		if dir := Enclosing(root); dir != "" {
			dirs = append(dirs, dir)
		}
		r, err := gitrepo.At(root)
		if err != nil || fspath.UnderAny(r.GitDir, roots) {
			continue
		}
		dirs = append(dirs, r.GitDir)
		if r.Common != r.GitDir && complete(r.Common) {
			dirs = append(dirs, r.Common)
		}
	}
	return dirs
}
