package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Files of one folder that one goroutine takes at a time.
const walkBatch = 64

// walked is a regular file that a walk has come to. It is good during the visit.
type walked struct {
	dir  walkedFolder // the folder it lies in
	name string
	path string // absolute
}

// walk visits the regular files below start that are neither ignored nor hidden,
// in no order, several at a time. Links are not followed, folders that cannot be
// read are passed over, other workspace folders are left to their own walk. It
// returns when every visit has; the error is the context's.
func (w *Workspace) walk(ctx context.Context, start place, only *globs, visit func(walked)) error {
	root, err := safefile.OpenRootIn(start.folder.root, start.rel)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := openWalked(root, start.abs())
	if err != nil {
		return err
	}
	k := &walker{
		ctx:     ctx,
		root:    root,
		start:   start.abs(),
		visit:   visit,
		ignorer: w.ignorer(start, only),
		foreign: w.foreign(start.folder),
		tokens:  make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
	k.folder(dir, start.abs(), k.ignorer.parents)
	k.running.Wait()
	return ctx.Err()
}

func (w *Workspace) ignorer(start place, only *globs) *ignorer {
	return &ignorer{
		only:    only,
		global:  w.gitConfig.globalRules(),
		base:    filepath.ToSlash(start.folder.path),
		parents: ignoreAbove(start.abs()),
	}
}

// foreign lists the workspace folders that lie in f.
func (w *Workspace) foreign(f *folder) map[string]bool {
	others := make(map[string]bool)
	for _, other := range w.current() {
		if other != f {
			others[other.path] = true
		}
	}
	return others
}

type walker struct {
	ctx     context.Context
	root    *os.Root // of the folder where the walk begins
	start   string   // its path
	visit   func(walked)
	ignorer *ignorer
	foreign map[string]bool
	tokens  chan struct{} // one for each goroutine that may run beside the caller's
	running sync.WaitGroup
}

// spawn runs do on a goroutine of its own when there is one to spare, else here.
func (k *walker) spawn(wait *sync.WaitGroup, do func()) {
	select {
	case k.tokens <- struct{}{}:
		wait.Go(func() {
			defer func() { <-k.tokens }()
			do()
		})
	default:
		do()
	}
}

// folder walks one folder and closes it.
func (k *walker) folder(dir walkedFolder, path string, above *ignoreFolder) {
	defer dir.close()
	if k.ctx.Err() != nil || isProc(path) {
		return
	}
	entries := dir.entries()
	rules := enterWalked(k.read(path), path, above, entries)
	var files []walked
	slashed := strings.TrimSuffix(filepath.ToSlash(path), "/")
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() && !e.IsDir() || k.ignorer.skips(rules, slashed+"/"+name, name, e.IsDir()) {
			continue
		}
		if at := filepath.Join(path, name); !e.IsDir() {
			files = append(files, walked{dir, name, at})
		} else if !k.foreign[at] {
			k.descend(dir, name, at, rules)
		}
	}
	k.files(files)
}

// read reads rules in the folder at path.
func (k *walker) read(path string) func(name string) []byte {
	return func(name string) []byte {
		rel, _ := below(k.start, path)
		return readRulesIn(k.root, filepath.ToSlash(filepath.Join(rel, name)))
	}
}

func (k *walker) descend(dir walkedFolder, name, path string, rules *ignoreFolder) {
	sub, err := dir.sub(name, path)
	if err != nil {
		return // gone, not ours to read, or a link by now
	}
	k.spawn(&k.running, func() { k.folder(sub, path, rules) })
}

// files visits the files of one folder.
func (k *walker) files(files []walked) {
	var batches sync.WaitGroup
	for len(files) > 0 {
		batch := files[:min(len(files), walkBatch)]
		files = files[len(batch):]
		do := func() {
			for _, f := range batch {
				if k.ctx.Err() != nil {
					return
				}
				k.visit(f)
			}
		}
		if len(files) == 0 {
			do() // the last one here, since we wait anyway
		} else {
			k.spawn(&batches, do)
		}
	}
	batches.Wait()
}

func readFolder(dir *os.Root) []fs.DirEntry {
	f, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1) // what could be read counts
	return entries
}

// enterWalked takes up the rules of a folder with these entries.
func enterWalked(read func(name string) []byte, path string, above *ignoreFolder, entries []fs.DirEntry) *ignoreFolder {
	var dotted map[string]bool
	for _, e := range entries {
		switch e.Name() {
		case ".git", ".gitignore", ".ignore", ".rgignore":
			if dotted == nil {
				dotted = make(map[string]bool)
			}
			dotted[e.Name()] = true
		}
	}
	if dotted == nil {
		return above
	}
	has := func(name string) bool { return dotted[name] }
	return above.enter(filepath.ToSlash(path), has, read)
}

// visible reports whether a walk from start would come to the file at path, which
// need not exist on the disk.
func (g *ignorer) visible(start, path string) bool {
	rel, ok := below(start, path)
	if !ok || rel == "." {
		return ok
	}
	rules, at := g.parents, start
	parts := strings.Split(rel, string(filepath.Separator))
	for i, name := range parts {
		has := func(name string) bool {
			_, err := os.Lstat(filepath.Join(at, name))
			return err == nil
		}
		read := func(name string) []byte { return readRules(filepath.Join(at, filepath.FromSlash(name))) }
		rules = rules.enter(filepath.ToSlash(at), has, read)
		at = filepath.Join(at, name)
		if g.skips(rules, filepath.ToSlash(at), name, i < len(parts)-1) {
			return false
		}
	}
	return true
}
