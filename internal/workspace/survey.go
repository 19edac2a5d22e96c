package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Survey is a look at everything in the folders of a workspace that is somebody's
// work: files, links and folders, hidden ones too, but nothing that git's rules
// ignore (which count without a repository as well), no .git, and no folders of
// caches and installed packages.
type Survey struct {
	// Enter is told of each folder that is a repository's, before it is looked at:
	// there is a .git in it. Nil: nobody is.
	Enter func(folder string)
	// Tracked tells of what git would ignore, or what is a cache, that it counts all
	// the same. Nil: nothing does.
	Tracked func(path string) bool
	// Visit takes what is in a folder, by several goroutines at once.
	Visit func(found []Surveyed)
}

// Surveyed is one thing that a survey has found.
type Surveyed struct {
	Path string      // absolute
	Info fs.FileInfo // of a link, the link's own
	Link string      // where a link leads
}

// Survey looks at every folder, and lets searches go first. Those that cannot be read are passed over; the
// error is the context's, or that of a folder of the workspace.
func (w *Workspace) Survey(ctx context.Context, s Survey) error {
	var errs []error
	for _, f := range w.current() {
		root, err := f.root.OpenRoot(".")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		start := place{f, "."}
		rules := w.ignorer(start, nil)
		rules.asGit = true
		k := &surveyor{
			walker: walker{ctx: ctx, ignorer: rules, foreign: w.foreign(f), tokens: make(chan struct{}, runtime.GOMAXPROCS(0))},
			Survey: s,
			yield:  w.Yield,
		}
		k.folder(root, f.path, rules.parents, false)
		k.running.Wait()
	}
	return errors.Join(append(errs, ctx.Err())...)
}

type surveyor struct {
	walker
	Survey
	yield func(context.Context)
}

// folder looks at one folder and closes it. strict: only what is tracked counts.
func (k *surveyor) folder(dir *os.Root, path string, above *ignoreFolder, strict bool) {
	defer dir.Close()
	k.yield(k.ctx)
	if k.ctx.Err() != nil || isProc(path) {
		return
	}
	entries := readFolder(dir)
	if k.Enter != nil && hasEntry(entries, ".git") {
		k.Enter(path)
	}
	rules := enterWalked(func(name string) []byte { return readRulesIn(dir, name) }, path, above, entries)
	strict = strict || isCache(entries)
	slashed := strings.TrimSuffix(filepath.ToSlash(path), "/")
	found := make([]Surveyed, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if name == ".git" || isTemp(name) {
			continue
		}
		at := filepath.Join(path, name)
		ignored := strict || e.IsDir() && isInstalled(name) || k.ignorer.verdict(rules, slashed+"/"+name, name, e.IsDir()) == ignored
		if ignored && (k.Tracked == nil || !k.Tracked(at)) {
			continue
		}
		if thing, ok := surveyed(dir, e, at); ok {
			found = append(found, thing)
		}
		if e.IsDir() && !k.foreign[at] {
			k.enter(dir, name, at, rules, ignored)
		}
	}
	k.Visit(found)
}

func (k *surveyor) enter(dir *os.Root, name, path string, rules *ignoreFolder, strict bool) {
	sub, err := safefile.OpenRootIn(dir, name)
	if err != nil {
		return // gone, not ours to read, or a link by now
	}
	k.spawn(&k.running, func() { k.folder(sub, path, rules, strict) })
}

// surveyed looks at an entry of dir, which was read through its root: so what Info
// says was found there, and costs nothing.
func surveyed(dir *os.Root, e fs.DirEntry, path string) (Surveyed, bool) {
	if kind := e.Type(); !kind.IsRegular() && !kind.IsDir() && kind&fs.ModeSymlink == 0 {
		return Surveyed{}, false
	}
	info, err := e.Info()
	if err != nil {
		return Surveyed{}, false
	}
	s := Surveyed{Path: path, Info: info}
	if info.Mode()&fs.ModeSymlink != 0 {
		s.Link, err = dir.Readlink(e.Name())
	}
	return s, err == nil
}

func hasEntry(entries []fs.DirEntry, name string) bool {
	for _, e := range entries {
		if e.Name() == name {
			return true
		}
	}
	return false
}

// isInstalled tells of a folder by whose name everybody knows that it can be made
// again from what lies beside it.
func isInstalled(name string) bool {
	return name == "node_modules" || name == "__pycache__"
}

// isCache tells of a folder that says so itself: caches do by CACHEDIR.TAG, and
// Python's environments by pyvenv.cfg.
func isCache(entries []fs.DirEntry) bool {
	return hasEntry(entries, "CACHEDIR.TAG") || hasEntry(entries, "pyvenv.cfg")
}

// Holds reports whether an absolute path lies in one of the folders, as it is spelled.
func (w *Workspace) Holds(path string) bool {
	_, inside := longest(w.current(), path)
	return inside
}

// SurveyOne is what a survey would say of one path, whether or not it would come by.
func (w *Workspace) SurveyOne(path string) (found Surveyed, ok bool) {
	p, inside := longest(w.current(), path)
	if !inside {
		return found, false
	}
	p, err := p.hold()
	if err != nil {
		return found, false
	}
	defer p.close()
	info, err := p.folder.root.Lstat(p.rel)
	if err != nil {
		return found, false
	}
	found = Surveyed{Path: path, Info: info}
	if info.Mode()&fs.ModeSymlink != 0 {
		found.Link, err = p.folder.root.Readlink(p.rel)
	}
	return found, err == nil
}

// ReadSurveyed reads a file that a survey has found, if it is at most limit bytes
// long; no link is followed. after is what the system says of it once it was read.
func (w *Workspace) ReadSurveyed(path string, limit int64) (text []byte, after fs.FileInfo, err error) {
	p, inside := longest(w.current(), path)
	if !inside {
		return nil, nil, w.outside(path)
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
	if info.Size() > min(limit, maxWhole) {
		return nil, nil, ErrTooLarge
	}
	if text, err = readAll(f, info.Size()); err != nil {
		return nil, nil, err
	}
	after, err = f.Stat()
	return text, after, err
}

// Surveys reports whether a survey would come to a path, which need not exist; what
// is tracked aside.
func (w *Workspace) Surveys(path string) bool {
	p, inside := longest(w.current(), path)
	if !inside || p.rel == "." {
		return false
	}
	start := place{p.folder, "."}
	g := w.ignorer(start, nil)
	g.asGit = true
	rules, at := g.parents, p.folder.path
	parts := strings.Split(p.rel, string(filepath.Separator))
	for i, name := range parts {
		here := at
		has := func(name string) bool {
			_, err := os.Lstat(filepath.Join(here, name))
			return err == nil
		}
		read := func(name string) []byte { return readRules(filepath.Join(here, filepath.FromSlash(name))) }
		rules = rules.enter(filepath.ToSlash(here), has, read)
		at = filepath.Join(at, name)
		isFolder := i < len(parts)-1
		if name == ".git" || has("CACHEDIR.TAG") || has("pyvenv.cfg") || isFolder && isInstalled(name) ||
			g.verdict(rules, filepath.ToSlash(at), name, isFolder) == ignored {
			return false
		}
	}
	return true
}
