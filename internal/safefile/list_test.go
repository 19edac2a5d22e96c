//go:build linux

package safefile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// A command exchanges a folder and a named pipe all the time. No list waits for the pipe.
func TestFoldersWaitForNoPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, pipe := filepath.Join(dir, "folder"), filepath.Join(dir, "pipe")
	if err := os.MkdirAll(filepath.Join(folder, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := safefile.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() // only read
	var over atomic.Bool
	swapped := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !over.Load() {
			err = unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, pipe, unix.RENAME_EXCHANGE)
		}
		swapped <- err
	}()
	listed := make(chan int)
	go func() {
		seen := 0
		for range 5000 {
			fs.WalkDir(safefile.Folders(root), ".", func(path string, _ fs.DirEntry, _ error) error { // counted below
				if filepath.Base(path) == "in" {
					seen++
				}
				return nil
			})
		}
		listed <- seen
	}()
	select {
	case seen := <-listed:
		if seen == 0 {
			t.Error("the folder was never listed")
		}
	case <-time.After(time.Minute):
		t.Fatal("a list waits for a named pipe")
	}
	over.Store(true)
	if err := <-swapped; err != nil {
		t.Fatal(err)
	}
}
