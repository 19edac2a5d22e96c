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
	settle = 100 * time.Millisecond // how long a burst of writes is left to end
	absent = 2 * time.Second        // how often a file is looked for that is not there
)

// Watch calls changed after config.yaml or .env in home has changed, come or gone,
// until ctx ends. An editor's save of several steps counts once.
//
// The files are watched, not the folder: the store lies there too, and each message
// written to it would wake us.
func Watch(ctx context.Context, home string, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", home, err)
	}
	defer watcher.Close()
	w := &watch{watcher: watcher, files: map[string]bool{Path(home): false, filepath.Join(home, ".env"): false}}
	w.look()
	quiet, again := time.NewTimer(time.Hour), time.NewTimer(absent)
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
			quiet.Reset(settle)
		case <-watcher.Errors: // an overflow: something may have been missed
			quiet.Reset(settle)
		case <-quiet.C:
			w.forget() // a file that was replaced is another one
			w.look()
			changed()
			again.Reset(absent)
		case <-again.C:
			if w.look() {
				quiet.Reset(settle)
			}
			if w.missing() {
				again.Reset(absent)
			}
		}
	}
}

// watch holds which of the files are there, and so watched.
type watch struct {
	watcher *fsnotify.Watcher
	files   map[string]bool
}

// look watches what has come, and tells whether anything has.
func (w *watch) look() (came bool) {
	for file, watched := range w.files {
		if watched {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && w.watcher.Add(file) == nil {
			w.files[file] = true
			came = true
		}
	}
	return came
}

func (w *watch) forget() {
	for file := range w.files {
		_ = w.watcher.Remove(file) // the system has often done it already
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
