package safefile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Several writers at the same time replace a file. Each reader sees a whole text of one of them,
// and no temporary file is left.
func TestReplaceAtOnce(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(string, []byte, os.FileMode) error{"Replace": safefile.Replace, "Save": safefile.Save} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			var writers sync.WaitGroup
			for i := range 8 {
				writers.Go(func() {
					for range 20 {
						if err := write(path, bytes.Repeat([]byte{byte('a' + i)}, 1000+i), 0o600); err != nil {
							t.Error(err)
						}
						text, err := os.ReadFile(path)
						if err != nil || len(text) < 1000 || len(text) != 1000+int(text[0]-'a') || strings.Trim(string(text), string(text[:1])) != "" {
							t.Errorf("%d bytes, %v", len(text), err)
						}
					}
				})
			}
			writers.Wait()
			if left, err := os.ReadDir(filepath.Dir(path)); len(left) != 1 || err != nil {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// Replace replaces a link and sets the mode. Save follows a link and keeps the mode.
func TestReplaceKeeps(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there, and modes differ")
	}
	for name, tc := range map[string]struct {
		write  func(string, []byte, os.FileMode) error
		target string // text of the link's target afterwards
		link   bool   // path is still a link
		mode   os.FileMode
	}{
		"Replace": {safefile.Replace, "old", false, 0o600},
		"Save":    {safefile.Save, "new", true, 0o640},
	} {
		dir := t.TempDir()
		target, path := filepath.Join(dir, "target"), filepath.Join(dir, "path")
		if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(target, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("target", path); err != nil {
			t.Fatal(err)
		}
		if err := tc.write(path, []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(path)
		kept, _ := os.ReadFile(target)
		at, _ := os.Lstat(path)
		info, _ := os.Stat(path)
		if string(text) != "new" || string(kept) != tc.target || (at.Mode()&os.ModeSymlink != 0) != tc.link || info.Mode().Perm() != tc.mode {
			t.Errorf("%s: %q, target %q, %v, %v", name, text, kept, at.Mode(), info.Mode())
		}
	}
}

// A failure leaves the old file, and nothing beside it.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string, []byte, os.FileMode) error{"Replace": safefile.Replace, "Save": safefile.Save} {
		if write(filepath.Join(dir, "d"), []byte("x"), 0o600) == nil || write(filepath.Join(dir, "none", "x"), []byte("x"), 0o600) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
