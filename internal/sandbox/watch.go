package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// What a protected place is.
const (
	hooks     = iota // run by git: never by a command's hand
	own              // our own settings: as above
	settings         // run or configure something in an editor or a shell: asks
	gitConfig        // written by git all the time; single settings in it run something: asks
)

type protected struct {
	path string
	kind int
}

// settingsNames are in a root what editors and shells read by themselves.
var settingsNames = []string{".vscode", ".idea", ".envrc", ".nvim.lua", ".exrc"}

// protectedPlaces are those of the roots and their repositories, existing or not.
func protectedPlaces(roots []string) (all []protected) {
	for _, root := range roots {
		for _, name := range settingsNames {
			all = append(all, protected{filepath.Join(root, name), settings})
		}
		all = append(all, protected{filepath.Join(root, ".hermes", "config.yaml"), own})
	}
	for _, r := range repositories(roots) {
		all = append(all, protected{r.hooks(), hooks})
		for _, path := range r.configs() {
			all = append(all, protected{path, gitConfig})
		}
	}
	return all
}

// Bounds of what is remembered of a place, so that it can be put back.
const (
	fileLimit  = 256 << 10
	filesLimit = 300
)

// content is a file as it was.
type content struct {
	info fs.FileInfo // of the file itself, not of what it links to
	text []byte      // or where it links to; nil: too large to be kept
}

func (c content) same(info fs.FileInfo) bool {
	return c.info.Mode() == info.Mode() && c.info.Size() == info.Size() &&
		c.info.ModTime().Equal(info.ModTime()) && os.SameFile(c.info, info) && changeTime(c.info) == changeTime(info)
}

// A Watch is how the protected places were before a command.
type Watch struct {
	box    *Box
	roots  []string
	before map[string]content // by path
	kinds  map[string]int     // by the place that a path lies in
	held   []string           // places that the command could not change
	dirs   map[string]bool    // folders of places that were there before
	kept   string             // where something was put that was taken back
}

// Watch looks at the protected places before a command that is about to be
// confined. Nil, which is a Watch too: nothing is watched.
func (b *Box) Watch() *Watch {
	if b.off() {
		return nil
	}
	roots := b.cfg.Roots()
	w := &Watch{box: b, roots: roots, kinds: map[string]int{}, dirs: map[string]bool{}}
	w.before = w.look(w.dirs)
	if kind := b.heldBy(); kind == Namespaces || kind == Bubblewrap || kind == Seatbelt {
		for path, k := range w.kinds {
			if _, err := os.Stat(path); err == nil && k != gitConfig {
				w.held = append(w.held, path)
			}
		}
	}
	return w
}

// heldBy is the mechanism that is in use, if that is known by now.
func (b *Box) heldBy() Kind {
	if b.cfg.Mechanism != nil {
		return b.cfg.Mechanism.Kind
	}
	found.Lock()
	defer found.Unlock()
	if found.mechanism == nil {
		return None
	}
	return found.mechanism.Kind
}

// look reads all protected places, and notes their folders in dirs.
func (w *Watch) look(dirs map[string]bool) map[string]content {
	seen := map[string]content{}
	for _, p := range protectedPlaces(w.roots) {
		w.kinds[p.path] = p.kind
		filepath.WalkDir(p.path, func(path string, d fs.DirEntry, err error) error { //nolint:errcheck // what cannot be read cannot be run either
			if err != nil || d.IsDir() && path != p.path && len(seen) > filesLimit {
				return nil
			}
			if d.IsDir() && dirs != nil {
				dirs[path] = true
			}
			if d.IsDir() || p.kind == hooks && strings.HasSuffix(path, ".sample") || len(seen) > filesLimit {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			seen[path] = w.box.remember(path, info)
			return nil
		})
	}
	return seen
}

// remember reads a file, if it is not as it was when it was last read.
func (s *shared) remember(path string, info fs.FileInfo) content {
	s.mu.Lock()
	known, ok := s.known[path]
	s.mu.Unlock()
	if ok && known.same(info) {
		return known
	}
	c := content{info: info}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		c.text = []byte(target)
	case info.Mode().IsRegular() && info.Size() <= fileLimit:
		c.text, _ = safefile.ReadBelow(filepath.Dir(path), filepath.Base(path), fileLimit)
	}
	s.mu.Lock()
	s.known[path] = c
	s.mu.Unlock()
	return c
}

// Change is something that a command did to a protected place.
type Change struct {
	Path string
	What string // "a git hook", "the git setting core.fsmonitor = ./x, which runs a program"
	Asks bool   // a person may let it stand; else it has to be undone
	Key  string // what a remembered yes would cover

	undo func() error
}

// Undo puts back what was there before. A file that had been put in its place is
// kept: see [Watch.Kept].
func (c Change) Undo() error { return c.undo() }

// Changes are what happened in the protected places since the Watch was made.
func (w *Watch) Changes() (all []Change) {
	if w == nil {
		return nil
	}
	after := w.look(nil)
	paths := make([]string, 0, len(after))
	for path := range after {
		paths = append(paths, path)
	}
	for path := range w.before {
		if _, there := after[path]; !there {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		old, had := w.before[path]
		now, has := after[path]
		if had && has && old.same(now.info) || w.wasHeld(path) {
			continue
		}
		if had && has && string(old.text) == string(now.text) && old.text != nil && old.info.Mode() == now.info.Mode() {
			continue // only touched
		}
		all = append(all, w.change(path, old, had, has)...)
	}
	return all
}

func (w *Watch) wasHeld(path string) bool { return underAny(path, w.held) }

// placeOf is the protected place that a path lies in.
func (w *Watch) placeOf(path string) string {
	for {
		if _, ok := w.kinds[path]; ok || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

func (w *Watch) change(path string, old content, had, has bool) []Change {
	c := Change{Path: path, undo: func() error { return w.restore(path, old, had, has) }}
	name := w.name(path)
	switch kind := w.kinds[w.placeOf(path)]; {
	case kind == gitConfig && !has:
		return nil // what is gone runs nothing
	case kind == gitConfig:
		return w.gitChanges(path, old, had)
	case kind == settings && w.box.opens(path):
		return nil
	case kind == hooks && !has && !isRepository(filepath.Dir(w.placeOf(path))):
		return nil // gone as a whole
	case kind == hooks:
		c.What = "the git hook " + name
		if !has {
			c.What = "the removal of " + c.What
		}
	case kind == own:
		c.What = "our own settings, " + name
	default:
		c.What, c.Asks, c.Key = name+", which an editor or a shell reads by itself", true, "write "+name
	}
	return []Change{c}
}

func (w *Watch) name(path string) string {
	for _, root := range w.roots {
		if rel, err := filepath.Rel(root, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}

// restore puts a file back as it was. What is there now is kept aside.
func (w *Watch) restore(path string, old content, had, has bool) error {
	if has {
		if err := w.setAside(path); err != nil {
			return fmt.Errorf("taking back %s: %w", path, err)
		}
	}
	if !had {
		w.removeEmpty(filepath.Dir(path))
		return nil
	}
	if old.text == nil {
		return fmt.Errorf("taking back %s: it was too large to be remembered", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("taking back %s: %w", path, err)
	}
	var err error
	if old.info.Mode()&fs.ModeSymlink != 0 {
		err = os.Symlink(string(old.text), path)
	} else {
		err = writeNew(path, old.text, old.info.Mode().Perm())
	}
	if err != nil {
		return fmt.Errorf("taking back %s: %w", path, err)
	}
	return nil
}

// writeNew writes a file that is not there: nobody may have put a link in its place.
func writeNew(path string, text []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Chmod(mode), f.Close())
}

// Kept is the folder in which things are kept that were taken back; empty: none
// were.
func (w *Watch) Kept() string {
	if w == nil {
		return ""
	}
	return w.kept
}

// keepIn makes a new folder to keep something in.
func (w *Watch) keepIn() (dir string, err error) {
	keep := w.box.cfg.Keep
	if keep == "" {
		temp, err := w.box.tempFolder()
		if err != nil {
			return "", err
		}
		keep = temp.kept()
	}
	if err := os.MkdirAll(keep, 0o700); err != nil {
		return "", err
	}
	w.kept = keep
	return os.MkdirTemp(keep, "")
}

// setAside moves a file away, or removes it where it cannot be kept.
func (w *Watch) setAside(path string) error {
	dir, err := w.keepIn()
	if err != nil {
		return err
	}
	to := filepath.Join(dir, filepath.Base(path))
	if os.Rename(path, to) == nil {
		return nil
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() <= fileLimit {
		if text, err := safefile.ReadBelow(filepath.Dir(path), filepath.Base(path), fileLimit); err == nil {
			os.WriteFile(to, text, 0o600) //nolint:errcheck // kept if it can be
		}
	}
	return os.Remove(path)
}

// removeEmpty removes folders that a command made for what has been taken back.
func (w *Watch) removeEmpty(dir string) {
	for {
		if w.dirs[dir] || !w.inPlace(dir) || os.Remove(dir) != nil {
			return
		}
		dir = filepath.Dir(dir)
	}
}

func (w *Watch) inPlace(dir string) bool {
	for place := range w.kinds {
		if under(dir, place) || under(place, dir) && !slices.Contains(w.roots, dir) && filepath.Base(dir) == ".hermes" {
			return true
		}
	}
	return false
}
