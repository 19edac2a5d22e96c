//go:build unix

package testdir

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestMake: a new directory removes only directories of ended processes.
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

// TestKeep: a process holds a directory, and the next process finds it empty.
func TestKeep(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	if os.Getenv("TESTDIR_PARENT") != "" {
		parent = os.Getenv("TESTDIR_PARENT")
	}
	dir, ok := Keep(parent, "kept")
	if os.Getenv("TESTDIR_PARENT") != "" {
		if ok {
			t.Fatal("two processes hold a folder")
		}
		return
	}
	if !ok {
		t.Fatal("a new folder is not held")
	}
	other := exec.Command(os.Args[0], "-test.run=^TestKeep$")
	other.Env = append(os.Environ(), "TESTDIR_PARENT="+parent)
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(parent, "kept", "left")
	if err := errors.Join(os.Mkdir(filepath.Join(parent, "kept"), 0o700), os.Mkdir(left, 0o500)); err != nil { // as a killed process leaves it
		t.Fatal(err)
	}
	if _, ok := Keep(parent, "kept"); !ok {
		t.Error("the folder of a process that has ended is not held")
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", left, err)
	}
	if err := os.Symlink(parent, filepath.Join(parent, "link")); err != nil {
		t.Fatal(err)
	}
	if _, ok := Keep(parent, "link"); ok {
		t.Error("a link is held")
	}
}
