package own

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// mostWatched limits the watched folders.
const mostWatched = 4000

// Kinds of changes, as LSP numbers them.
const (
	created = 1
	changed = 2
	deleted = 3
)

// watcher collects the changes of a server's files on disk.
type watcher struct {
	watcher *fsnotify.Watcher
	wanted  func(path string) bool
	failed  func(err error) // called once if a folder could not be watched
	done    chan struct{}   // is closed when the goroutine has ended

	mu      sync.Mutex
	folders int
	changes map[string]int // kinds by path
}

// watch watches the files of a server below root, and the markers of projects. If a folder cannot be watched, it calls
// failed, once.
func watch(root string, s spec, failed func(error)) (*watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watcher{watcher: notify, done: make(chan struct{}), failed: failed, changes: map[string]int{}, wanted: func(path string) bool {
		return s.extensions[filepath.Ext(path)] != "" || slices.Contains(s.markers, filepath.Base(path))
	}}
	go w.run(root)
	return w, nil
}

// run adds the folders and collects changes, until the watcher is closed.
func (w *watcher) run(root string) {
	defer close(w.done)
	w.add(root)
	for {
		select {
		case e, open := <-w.watcher.Events:
			if !open {
				return
			}
			w.note(e)
		case _, open := <-w.watcher.Errors: // an overflow: changes are missing
			if !open {
				return
			}
		}
	}
}

// skipped are folders with files of other programs.
var skipped = []string{"node_modules", "target", "__pycache__", "venv"}

// add watches a folder and its subfolders.
func (w *watcher) add(root string) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error { // unreadable entries are left out
		if err != nil || !d.IsDir() {
			return nil
		}
		if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || slices.Contains(skipped, name)) {
			return fs.SkipDir
		}
		if w.folders >= mostWatched {
			return fs.SkipAll
		}
		if err := w.watcher.Add(path); err != nil {
			if w.failed != nil && !errors.Is(err, fs.ErrNotExist) {
				w.failed(err)
				w.failed = nil
			}
			return fs.SkipAll
		}
		w.folders++
		return nil
	})
}

func (w *watcher) note(e fsnotify.Event) {
	kind := changed
	switch {
	case e.Has(fsnotify.Create):
		w.add(e.Name) // nothing happens if it is a file
		kind = created
	case e.Has(fsnotify.Remove), e.Has(fsnotify.Rename):
		kind = deleted
	case !e.Has(fsnotify.Write):
		return
	}
	if !w.wanted(e.Name) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if before := w.changes[e.Name]; before == created && kind == changed {
		kind = created
	} else if before == deleted && kind == created {
		kind = changed // it was replaced
	}
	w.changes[e.Name] = kind
}

// take returns the changes since the last call.
func (w *watcher) take() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := maps.Clone(w.changes)
	clear(w.changes)
	return taken
}

// has reports whether a file has changed since the last call of take.
func (w *watcher) has(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes[path] != 0
}

func (w *watcher) close() {
	w.watcher.Close() // it is of no more use
	<-w.done
}
