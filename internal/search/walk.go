package search

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hermes-ls/hermes-ls/internal/ignore"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// walkBatch is the number of files of a directory that a goroutine visits at a time.
const walkBatch = 64

// Location is a path in an open directory tree.
type Location struct {
	Folder string   // absolute
	Root   *os.Root // of Folder
	Rel    string   // "." for the folder itself
}

// Abs returns the absolute path of the location.
func (l Location) Abs() string { return filepath.Join(l.Folder, l.Rel) }

// File is a regular file visited by a walk. It is valid during the visit.
type File struct {
	dir  openDir // its directory
	Name string
	Path string // absolute
}

// LongestPath is the length of a directory's path beyond which walks do not enter it: by
// such a path, no program opens a file on Linux. A chain of a few thousand directories,
// which a command makes in an instant, would otherwise fill the memory with paths.
const LongestPath = 4096

// Walk visits the regular files below start that the rules include, in no order and several at a
// time. It does not follow links. It skips unreadable directories and directories for which skip
// returns true. It returns after all visits; the error comes from the context or from start.
func Walk(ctx context.Context, start Location, rules *ignore.Matcher, skip func(dir string) bool, visit func(File)) error {
	root, err := safefile.OpenRootIn(start.Root, start.Rel)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := openRootDir(root, start.Abs())
	if err != nil {
		return err
	}
	k := &walker{ctx: ctx, root: root, start: start.Abs(), rules: rules, skip: skip, visit: visit}
	k.running.SetLimit(runtime.GOMAXPROCS(0))
	k.dir(dir, start.Abs(), rules.Above)
	_ = k.running.Wait() // visits have no errors
	return ctx.Err()
}

type walker struct {
	ctx     context.Context
	root    *os.Root // of the directory in which the walk starts
	start   string   // its path
	rules   *ignore.Matcher
	skip    func(dir string) bool
	visit   func(File)
	running errgroup.Group
}

// spawn runs do in a new goroutine if the limit allows it, else here.
func (k *walker) spawn(do func()) {
	if !k.running.TryGo(func() error { do(); return nil }) {
		do()
	}
}

// dir walks a directory and closes it.
func (k *walker) dir(dir openDir, path string, above *ignore.Dir) {
	defer dir.close()
	if k.ctx.Err() != nil || k.skip(path) {
		return
	}
	entries := dir.entries()
	rules := above.EnterEntries(path, entries, k.read(path))
	var files []File
	slashed := strings.TrimSuffix(filepath.ToSlash(path), "/")
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() && !e.IsDir() || k.rules.Skips(rules, slashed+"/"+name, name, e.IsDir()) {
			continue
		}
		if at := filepath.Join(path, name); !e.IsDir() {
			files = append(files, File{dir, name, at})
		} else if !k.skip(at) {
			k.descend(dir, name, at, rules)
		}
	}
	k.files(files)
}

func (k *walker) read(path string) func(name string) []byte {
	return func(name string) []byte {
		rel := strings.TrimPrefix(strings.TrimPrefix(path, k.start), string(filepath.Separator))
		return ignore.ReadIn(k.root, filepath.ToSlash(filepath.Join(rel, name)))
	}
}

func (k *walker) descend(dir openDir, name, path string, rules *ignore.Dir) {
	if len(path) > LongestPath {
		return
	}
	sub, err := dir.sub(name, path)
	if err != nil {
		return // deleted, unreadable, or replaced by a link
	}
	k.spawn(func() { k.dir(sub, path, rules) })
}

// files visits the files of a directory, and returns after all visits: the directory must stay
// open.
func (k *walker) files(files []File) {
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
			do() // the last batch here, since files waits anyway
			continue
		}
		batches.Add(1)
		k.spawn(func() {
			defer batches.Done()
			do()
		})
	}
	batches.Wait()
}
