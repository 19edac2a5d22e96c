package gitguard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/protected"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// missing is the value of an imported path without a file.
const missing = "missing"

// parsed are the imports of a file as it was.
type parsed struct {
	marked
	names []protected.Import
}

// instructs returns the files of instructions found by a walk of a root, except dependencies.
func instructs(named []string, root string) (files []string) {
	for _, path := range named {
		if protected.Instructs(path) && !inDependencies(path, root) {
			files = append(files, path)
		}
	}
	return files
}

// importsOf returns the imports in a file. It reads an unchanged file only once.
func (g *Guard) importsOf(path string) []protected.Import {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	g.mu.Lock()
	known, ok := g.imports[path]
	ok = ok && known.same(info) && g.review.lasts(info)
	g.mu.Unlock()
	if ok {
		return known.names
	}
	names := protected.ReadImports(path)
	if stampIsFinal(info) {
		g.mu.Lock()
		g.imports[path] = parsed{marked{info: info}, names}
		g.mu.Unlock()
	}
	return names
}

// imported records the files that instructions import, or imported at the last review: a
// command can change an import and its file at once.
func (s *Scene) imported(g *Guard, files []string) {
	for _, root := range s.roots {
		files = append(files, protected.Around(root, nil)...)
	}
	s.from = map[string]string{}
	all, _ := protected.Imports(files, g.importsOf)
	for _, one := range all {
		s.importAt(g, one.Path, one.From)
	}
	g.mu.Lock()
	var before []string
	for key := range g.review.approved {
		if kind, path, _ := parts(key); kind == importItem {
			if _, there := s.items[key]; !there {
				before = append(before, path)
			}
		}
	}
	g.mu.Unlock()
	for _, path := range before {
		s.addImport(g, path)
		s.former = append(s.former, item{kind: importItem, path: path}.key())
	}
}

// importAt records an imported path, and the links on the way, each of which leads to the next.
func (s *Scene) importAt(g *Guard, path, from string) {
	lead := func(to string) {
		if s.from[to] == "" && to != from {
			s.from[to] = from
		}
		from = to
	}
	real, links, _ := fspath.Follow(path)
	for _, link := range links {
		if fspath.UnderAny(link, s.roots) {
			s.addImport(g, link)
			lead(link)
		}
	}
	if fspath.UnderAny(real, s.roots) {
		s.addImport(g, real)
		lead(real)
	}
	lead(path)
}

// addImport records an imported file, or a link on the way to it. A path that is recorded as a place is left out.
func (s *Scene) addImport(g *Guard, path string) {
	for _, kind := range []string{orderItem, placeItem} {
		if _, known := s.items[item{kind: kind, path: path}.key()]; known {
			return
		}
	}
	for _, root := range s.roots {
		if fspath.Under(path, root) && inPlace(path, root) && !inDependencies(path, root) || slices.Contains(ours(root), path) {
			return
		}
	}
	s.add(item{kind: importItem, path: path, value: g.markImport(path, s.roots)})
}

// markImport is the mark of an imported file. The mark of a link has its target only.
func (g *Guard) markImport(path string, roots []string) string {
	root, err := open(filepath.Dir(path), roots)
	if err != nil {
		return missing
	}
	defer root.Close() // only read
	name := filepath.Base(path)
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return missing
	case info.Mode()&os.ModeSymlink != 0:
		target, _ := root.Readlink(name)
		g.copies.link(onlyLink+target, target)
		return onlyLink + target
	case !info.Mode().IsRegular():
		return missing
	}
	return g.markFile(root, filepath.Dir(path), name, info)
}

// onlyLink begins the mark of a link without its target's mark.
const onlyLink = "link "

// joinImports decides about files that are imported now and were not before. Such a file is a part of the
// change that imports it: if the user denies the change, nothing imports the file any more. If the
// change needs no review, a file that has not been changed since the first command, nor moved, needs none
// either. It is called with the mutex.
func (g *Guard) joinImports(s *Scene, fresh []string, groups map[string]*Change) {
	changed := map[string]*Change{}
	for _, c := range groups {
		for key := range c.after {
			if kind, path, _ := parts(key); kind == orderItem || kind == placeItem || kind == importItem {
				changed[path] = c
			}
		}
	}
	for _, key := range fresh {
		_, path, _ := parts(key)
		if c := s.broughtBy(path, changed); c != nil {
			if c.brings == nil {
				c.brings = map[string]string{}
			}
			c.brings[key] = s.items[key]
			continue
		}
		if g.review.untouched(path, s.roots) {
			g.review.approved[key] = s.items[key]
			continue
		}
		groups[key] = &Change{Path: path, Asks: true, aside: true, copies: &g.copies, after: map[string]string{key: s.items[key]}, before: map[string]string{}}
	}
}

// untouched reports whether neither a file nor a folder around it, below the roots, has been changed since the first of the
// running programs started. A renamed folder brings files with old change times. It is called with the mutex.
func (r *review) untouched(path string, roots []string) bool {
	for ; fspath.UnderAny(path, roots) && !slices.Contains(roots, path); path = filepath.Dir(path) {
		if info, err := os.Lstat(path); err != nil || !r.unchanged(info) {
			return false
		}
	}
	return true
}

// mostLeading bounds the files and links by which a path is imported.
const mostLeading = 100

// broughtBy returns the change of a file or link by which a path is imported. If there is none, it returns nil.
func (s *Scene) broughtBy(path string, changed map[string]*Change) *Change {
	for range mostLeading {
		if path = s.from[path]; path == "" {
			return nil
		}
		for at, c := range changed {
			if fspath.Under(path, at) {
				return c
			}
		}
	}
	return nil
}

// describeImports adds the files that a change imports.
func (c *Change) describeImports(roots []string) {
	var names []string
	for key := range c.brings {
		_, path, _ := parts(key)
		names = append(names, shortName(path, roots))
	}
	if len(names) > 0 {
		slices.Sort(names)
		c.What += ", and which imports " + strings.Join(names[:min(len(names), mostNamed)], ", ")
		if len(names) > mostNamed {
			c.What += " and others"
		}
	}
}

// mostNamed bounds the imports named in a sentence.
const mostNamed = 10

// Bounds of the walks for [Guard.Importer].
const (
	walkAge  = 5 * time.Second
	walkWait = time.Second
)

// sources are the files of instructions in a workspace, found by the last walk.
type sources struct {
	files   []string
	at      time.Time
	walking chan struct{} // closed at the end of the running walk; nil: none runs
}

// Importer returns the file of instructions that imports an absolute path, directly or by another imported
// file. It knows the instructions in all folders of the workspace, in roots, and around the path. If a walk of
// the workspace takes long, it uses the files of the walk before. If there is no importer, it returns "".
func (g *Guard) Importer(path string, roots []string) string {
	return protected.Importer(path, append(protected.Around(path, roots), g.instructions()...), g.importsOf)
}

// instructions returns the files of instructions in the workspace.
func (g *Guard) instructions() []string {
	g.mu.Lock()
	done := g.sources.walking
	if done == nil && !g.closed && time.Since(g.sources.at) > walkAge {
		done = make(chan struct{})
		g.sources.walking = done
		g.work.Go(func() { g.findInstructions(done) })
	}
	g.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-time.After(walkWait):
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.sources.files)
}

func (g *Guard) findInstructions(done chan struct{}) {
	defer close(done)
	g.looking.Lock()
	var files []string
	for _, root := range fspath.Existing(g.cfg.Roots()) {
		files = append(files, instructs(g.walkerOf(root).look(true).named, root)...)
	}
	g.looking.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sources = sources{files: files, at: time.Now()}
}
