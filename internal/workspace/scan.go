package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/search"
)

// Scan receives the entries of the workspace folders: files, links and directories, including
// hidden entries. It does not receive paths ignored by git's rules (also without a repository),
// .git, and directories of caches and installed packages.
type Scan struct {
	// Enter is called with each directory containing a .git, before its entries are visited. It may
	// be nil.
	Enter func(dir string)
	// Tracked reports whether the scan includes a path ignored by git or in a cache. If it is nil,
	// the scan includes none.
	Tracked func(path string) bool
	// Visit is called with the entries of a directory, from several goroutines.
	Visit func(found []Entry)
}

// Entry is an entry found by a scan.
type Entry struct {
	Path string      // absolute
	Info fs.FileInfo // for a link, of the link itself
	Link string      // the target of a link
}

// Scan lists all workspace folders. It waits while searches run. Unreadable directories are left
// out; the error is the context's or a workspace folder's.
func (w *Workspace) Scan(ctx context.Context, s Scan) error {
	var errs []error
	for _, f := range w.current() {
		root, err := f.root.OpenRoot(".")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		start := place{f, "."}
		k := &scanner{ctx: ctx, rules: w.gitRules(start), skip: w.skipped(start.location()), Scan: s, yield: w.Yield}
		k.running.SetLimit(runtime.GOMAXPROCS(0))
		k.dir(root, f.path, k.rules.Above, false)
		_ = k.running.Wait() // unreadable directories are left out
	}
	return errors.Join(append(errs, ctx.Err())...)
}

// gitRules returns git's ignore rules for a walk from start.
func (s *scope) gitRules(start place) *ignore.Matcher {
	rules := s.rules(start)
	rules.AsGit = true
	return rules
}

type scanner struct {
	Scan
	ctx     context.Context
	rules   *ignore.Matcher
	skip    func(dir string) bool
	yield   func(context.Context)
	running errgroup.Group
}

// dir scans a directory and closes it. If strict is set, only tracked entries count.
func (k *scanner) dir(dir *os.Root, path string, above *ignore.Dir, strict bool) {
	defer dir.Close()
	k.yield(k.ctx)
	if k.ctx.Err() != nil || isProc(path) {
		return
	}
	entries := readDir(dir)
	if k.Enter != nil && hasEntry(entries, ".git") {
		k.Enter(path)
	}
	rules := above.EnterEntries(path, entries, func(name string) []byte { return ignore.ReadIn(dir, name) })
	strict = strict || isCache(entries)
	slashed := strings.TrimSuffix(filepath.ToSlash(path), "/")
	found := make([]Entry, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if name == ".git" || isTemp(name) {
			continue
		}
		at := filepath.Join(path, name)
		ignored := strict || e.IsDir() && isInstalled(name) || k.rules.Verdict(rules, slashed+"/"+name, name, e.IsDir()) == ignore.Ignored
		if ignored && (k.Tracked == nil || !k.Tracked(at)) {
			continue
		}
		if entry, ok := entryOf(dir, e, at); ok {
			found = append(found, entry)
		}
		if e.IsDir() && !k.skip(at) {
			k.enter(dir, name, at, rules, ignored)
		}
	}
	k.Visit(found)
}

func (k *scanner) enter(dir *os.Root, name, path string, rules *ignore.Dir, strict bool) {
	if len(path) > search.LongestPath {
		return
	}
	sub, err := safefile.OpenRootIn(dir, name)
	if err != nil {
		return // deleted, unreadable, or replaced by a link
	}
	scan := func() { k.dir(sub, path, rules, strict) }
	if !k.running.TryGo(func() error { scan(); return nil }) {
		scan()
	}
}

// entryOf returns an entry of dir. If it is not a file, a directory or a link, ok is false.
func entryOf(dir *os.Root, e fs.DirEntry, path string) (entry Entry, ok bool) {
	if !counts(e.Type()) {
		return Entry{}, false
	}
	info, err := e.Info() // found when dir was read
	if err != nil {
		return Entry{}, false
	}
	entry = Entry{Path: path, Info: info}
	if info.Mode()&fs.ModeSymlink != 0 {
		entry.Link, err = dir.Readlink(e.Name())
	}
	return entry, err == nil
}

// counts reports whether a scan includes entries of a kind: files, directories and links.
func counts(kind fs.FileMode) bool {
	return kind.IsRegular() || kind.IsDir() || kind&fs.ModeSymlink != 0
}

func readDir(dir *os.Root) []fs.DirEntry {
	f, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1) // after an error, the entries read so far
	return entries
}

func hasEntry(entries []fs.DirEntry, name string) bool {
	for _, e := range entries {
		if e.Name() == name {
			return true
		}
	}
	return false
}

// isInstalled reports whether a directory, by its name, can be generated again from the
// files beside it.
func isInstalled(name string) bool {
	return name == "node_modules" || name == "__pycache__"
}

// isCache reports whether a directory is marked as a cache: by CACHEDIR.TAG, or by
// pyvenv.cfg as Python's environments are.
func isCache(entries []fs.DirEntry) bool {
	return hasEntry(entries, "CACHEDIR.TAG") || hasEntry(entries, "pyvenv.cfg")
}

// Holds reports whether an absolute path is in a workspace folder, without resolving links.
func (s *scope) Holds(path string) bool {
	_, inside := longest(s.current(), path)
	return inside
}

// Entry returns the entry at a path, even if a scan does not include the path. If there is no file,
// directory or link, ok is false.
func (d *disk) Entry(path string) (found Entry, ok bool) {
	p, inside := longest(d.current(), path)
	if !inside {
		return found, false
	}
	if p.rel == "." { // a workspace folder itself
		info, err := p.folder.root.Stat(".")
		return Entry{Path: path, Info: info}, err == nil
	}
	p, err := p.hold()
	if err != nil {
		return found, false
	}
	defer p.close()
	info, err := p.folder.root.Lstat(p.rel)
	if err != nil || !counts(info.Mode()) {
		return found, false
	}
	found = Entry{Path: path, Info: info}
	if info.Mode()&fs.ModeSymlink != 0 {
		found.Link, err = p.folder.root.Readlink(p.rel)
	}
	return found, err == nil
}

// ReadEntry reads a scanned file, without following links. If it is longer than limit, the error is
// [ErrTooLarge]. after describes the file after it was read.
func (d *disk) ReadEntry(path string, limit int64) (text []byte, after fs.FileInfo, err error) {
	p, inside := longest(d.current(), path)
	if !inside {
		return nil, nil, d.outside(path)
	}
	if p, err = p.hold(); err != nil {
		return nil, nil, err
	}
	defer p.close()
	if info, err := p.folder.root.Lstat(p.rel); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, &safefile.KindError{Mode: info.Mode()}
	}
	f, info, err := safefile.OpenSeen(p.folder.root, p.rel)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > min(limit, MaxWhole) {
		return nil, nil, ErrTooLarge
	}
	if text, err = readAll(f, info.Size()); err != nil {
		return nil, nil, err
	}
	after, err = f.Stat()
	return text, after, err
}

// InScan reports whether a scan includes a path, apart from tracked paths. The path need not exist.
func (d *disk) InScan(path string) bool {
	p, inside := longest(d.current(), path)
	if !inside || p.rel == "." {
		return false
	}
	start := place{p.folder, "."}
	rules := d.gitRules(start)
	return rules.Descend(p.folder.path, p.rel, func(dir *ignore.Dir, at, name string, isDir bool) bool {
		return name != ".git" && !inCache(filepath.Dir(at)) && !(isDir && isInstalled(name)) &&
			rules.Verdict(dir, filepath.ToSlash(at), name, isDir) != ignore.Ignored
	})
}

// inCache is isCache for a directory not yet open.
func inCache(dir string) bool {
	for _, name := range []string{"CACHEDIR.TAG", "pyvenv.cfg"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
