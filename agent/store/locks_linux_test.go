package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// locksOn counts this process's POSIX locks on a file.
func locksOn(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(all)) {
		f := strings.Fields(line)
		if len(f) > 5 && f[1] == "POSIX" && f[4] == fmt.Sprint(os.Getpid()) && strings.HasSuffix(f[5], fmt.Sprint(":", info.Sys().(*syscall.Stat_t).Ino)) {
			n++
		}
	}
	return n
}

// waitForOneLock waits until the process holds exactly one lock on a file. A transaction of the
// store in the background briefly holds more.
func waitForOneLock(t *testing.T, path string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); locksOn(t, path) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the process holds %d locks on %s, want 1", locksOn(t, path), path)
		}
	}
}

// TestTwoStoresInOneProcess opens a second store of the same file in a process. It must not
// release the locks of the first. By the rules of POSIX, closing any descriptor of the file
// would release them. Then another process could remove a log in use.
func TestTwoStoresInOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	create(t, at(t, path), store.Session{})
	waitForOneLock(t, path)
	for range 2 {
		second := store.New(path, store.Options{})
		create(t, second, store.Session{})
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		waitForOneLock(t, path)
	}
}
