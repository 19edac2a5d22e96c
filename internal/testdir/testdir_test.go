//go:build unix

package testdir

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestMake checks that a new folder removes those of processes that have ended, and no others.
func TestMake(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	gonePID, ourPID := strconv.FormatInt(int64(gone.Process.Pid), base), strconv.FormatInt(int64(os.Getpid()), base)
	stale := "a-" + gonePID + "-123"
	stay := []string{"b-" + gonePID + "-123", "a-" + ourPID + "-123", "a-%-123", "a-123", "a-0-1"}
	for _, name := range append(stay, stale) {
		if err := os.MkdirAll(filepath.Join(parent, name, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(parent, stale, "in"), 0o500); err != nil {
		t.Fatal(err)
	}
	dir, err := Make(parent, "a-")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(stay, filepath.Base(dir)) {
		if _, err := os.Stat(filepath.Join(parent, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(parent, stale)); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", stale, err)
	}
}
