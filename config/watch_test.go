package config

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/fsnotify/fsnotify"
)

// If the system watches no more files, the error describes the user's next step.
func TestWatchWithoutRoom(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.EMFILE, syscall.ENOSPC, fmt.Errorf("inotify: %w", syscall.ENFILE)} {
		open := func() (*fsnotify.Watcher, error) { return nil, cause }
		if err := watchBy(t.Context(), t.TempDir(), func() {}, open); !errors.Is(err, ErrNotWatched) {
			t.Errorf("%v: %v", cause, err)
		}
	}
}
func TestWatched(t *testing.T) {
	t.Parallel()
	if err := Watched(os.NewSyscallError("inotify_add_watch", syscall.ENOSPC)); !errors.Is(err, ErrNotWatched) {
		t.Errorf("without watches: %v", err)
	}
	if other := fmt.Errorf("other"); Watched(other) != other || Watched(nil) != nil {
		t.Error("another error is changed")
	}
}
