package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quietTime = 100 * time.Millisecond // without events after which a burst of writes has ended
	retryTime = 2 * time.Second        // between checks for a missing file
)

// Watch calls changed after config.yaml or .env in home was changed, created or removed, until ctx
// ends. For a save in several steps it calls changed once.
//
// It watches the files and not the directory, because each write to the store in it would be an event. If the system watches
// no more files, Watch returns [ErrNotWatched] at once.
func Watch(ctx context.Context, home string, changed func()) error {
	return watchBy(ctx, home, changed, fsnotify.NewWatcher)
}

// ErrNotWatched is the error if the system watches no more files for this user.
var ErrNotWatched = errors.New("the system watches no more files for you. Close programs that watch many files, or raise fs.inotify.max_user_instances and fs.inotify.max_user_watches with sysctl")

// Watched returns the error of watching files. If the system watches no more, it is
// [ErrNotWatched], which describes the next step.
func Watched(err error) error {
	if exhausted(err) {
		return ErrNotWatched
	}
	return err
}

func watchBy(ctx context.Context, home string, changed func(), open func() (*fsnotify.Watcher, error)) error {
	watcher, err := open()
	if exhausted(err) {
		return ErrNotWatched
	}
	if err != nil {
		return fmt.Errorf("watching %s: %w", home, err)
	}
	defer watcher.Close()
	w := &watch{watcher: watcher, files: map[string]bool{Path(home): false, filepath.Join(home, ".env"): false}}
	if w.addNew(); w.exhausted {
		return ErrNotWatched
	}
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
	watcher   *fsnotify.Watcher
	files     map[string]bool
	exhausted bool // the system watches no more files
}

// exhausted reports whether the system watches no more files, or opens none.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOSPC)
}

// addNew starts to watch files that now exist, and reports whether there are any.
func (w *watch) addNew() (added bool) {
	for file, watched := range w.files {
		if watched {
			continue
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err = w.watcher.Add(file); err == nil {
			w.files[file] = true
			added = true
		}
		w.exhausted = w.exhausted || exhausted(err)
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
