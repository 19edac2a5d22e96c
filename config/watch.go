package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quietTime = 100 * time.Millisecond // without events after which a burst of writes has ended
	retryTime = 2 * time.Second        // between checks for a file that does not exist
)

// Watch calls changed after config.yaml or .env in home was changed, created or removed, until ctx
// ends. For a save in several steps it calls changed once.
//
// It watches the files and not the directory, because each write to the store in it would be an event.
func Watch(ctx context.Context, home string, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", home, err)
	}
	defer watcher.Close()
	w := &watch{watcher: watcher, files: map[string]bool{Path(home): false, filepath.Join(home, ".env"): false}}
	w.addNew()
	quiet, again := time.NewTimer(time.Hour), time.NewTimer(retryTime)
	defer quiet.Stop()
	defer again.Stop()
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-watcher.Events:
			if !open {
				return nil
			}
			quiet.Reset(quietTime)
		case <-watcher.Errors: // an overflow: an event could be lost
			quiet.Reset(quietTime)
		case <-quiet.C:
			w.forget() // a replaced file needs a new watch
			w.addNew()
			changed()
			again.Reset(retryTime)
		case <-again.C:
			if w.addNew() {
				quiet.Reset(quietTime)
			}
			if w.missing() {
				again.Reset(retryTime)
			}
		}
	}
}

// watch holds the files with whether they are watched.
type watch struct {
	watcher *fsnotify.Watcher
	files   map[string]bool
}

// addNew starts to watch files that now exist, and reports whether there are any.
func (w *watch) addNew() (added bool) {
	for file, watched := range w.files {
		if watched {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && w.watcher.Add(file) == nil {
			w.files[file] = true
			added = true
		}
	}
	return added
}

func (w *watch) forget() {
	for file := range w.files {
		_ = w.watcher.Remove(file) // the system has often removed it
		w.files[file] = false
	}
}

func (w *watch) missing() bool {
	for _, watched := range w.files {
		if !watched {
			return true
		}
	}
	return false
}
