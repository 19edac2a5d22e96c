package config

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a burst of writes to the files is left to end.
const settle = 100 * time.Millisecond

// Watch calls changed after config.yaml or .env in home has changed, until ctx
// ends. An editor's save of several steps counts once.
func Watch(ctx context.Context, home string, changed func()) error {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("making %s: %w", home, err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watching %s: %w", home, err)
	}
	defer watcher.Close()
	// The folder, not the file: editors replace files by renaming.
	if err := watcher.Add(home); err != nil {
		return fmt.Errorf("watching %s: %w", home, err)
	}
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-watcher.Events:
			if !open {
				return nil
			}
			if name := filepath.Base(event.Name); name == "config.yaml" || name == ".env" {
				quiet.Reset(settle)
			}
		case <-watcher.Errors: // an overflow: something may have been missed
			quiet.Reset(settle)
		case <-quiet.C:
			changed()
		}
	}
}
