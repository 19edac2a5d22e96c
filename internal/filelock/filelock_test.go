package filelock_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := filelock.Open(path, os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// Shared locks stand beside each other, and an exclusive lock stands alone.
func TestSharedAndExclusive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, second, third := open(t, path), open(t, path), open(t, path)
	for _, step := range []struct {
		f    *os.File
		kind filelock.Kind
		want bool
	}{
		{first, filelock.Shared, true},
		{second, filelock.Shared, true},
		{third, filelock.Exclusive, false},
	} {
		if got, err := filelock.Try(step.f, step.kind); got != step.want || err != nil {
			t.Fatalf("Try returned %v, %v; want %v", got, err, step.want)
		}
	}
	_, _ = first.Close(), second.Close()
	if err := filelock.Wait(third, filelock.Exclusive); err != nil {
		t.Fatal(err)
	}
	if got, err := filelock.Try(open(t, path), filelock.Shared); got || err != nil {
		t.Errorf("a shared lock beside an exclusive one: %v, %v", got, err)
	}
}

// Wait returns when the other holder closes its file.
func TestWaitEndsWithTheOtherLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(t, path), open(t, path)
	if err := filelock.Wait(first, filelock.Exclusive); err != nil {
		t.Fatal(err)
	}
	released, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		err := filelock.Wait(second, filelock.Shared)
		select {
		case <-released:
		default:
			t.Error("Wait returned while the other lock was held")
		}
		ended <- err
	}()
	close(released)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// If the context ends, Lock returns an error and holds nothing.
func TestLockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "lock")
	unlock, err := filelock.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := filelock.Lock(ctx, path); err == nil {
		t.Fatal("two have the lock")
	}
	unlock()
	again, err := filelock.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// A link in the place of the lock file is not followed.
func TestOpenFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.Symlink(target, filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if f, err := filelock.Open(filepath.Join(dir, "lock"), os.O_CREATE); err == nil {
		_ = f.Close()
		t.Error("the link was followed")
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("the target was made")
	}
}
