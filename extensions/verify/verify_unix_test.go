//go:build unix

package verify

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// A pipe, a link and a very large file in the place of a project's file are not read.
func TestFindHostileFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "Makefile"), 0o644); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(outside, []byte("module x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), slices.Concat([]byte(`{"scripts":{"test":"x`), make([]byte, maxFile), []byte(`"}}`)), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := find(dir); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}
