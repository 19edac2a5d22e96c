package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	dir, outside := t.TempDir(), t.TempDir()
	w, err := Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, target string
		wrong        error // nil: it is made
	}{
		{"d/link", "../file", nil},
		{"d/link", "../other", nil}, // another link takes its place
		{"whole", filepath.Join(w.Folders()[0], "file"), nil},
		{"file", "other", os.ErrExist},
		{"up", "../x", ErrOutside},
		{"away", outside, ErrOutside},
		{"../link", "file", ErrOutside},
		{"d/../../link", "file", ErrOutside},
	} {
		before, _ := w.LinkTarget(tt.path)
		err := w.Link(t.Context(), tt.path, tt.target)
		if !errors.Is(err, tt.wrong) {
			t.Errorf("%s to %s: %v, want %v", tt.path, tt.target, err, tt.wrong)
		}
		want := tt.target
		if tt.wrong != nil {
			want = before
		}
		if got, _ := w.LinkTarget(tt.path); got != want {
			t.Errorf("%s leads to %q, want %q", tt.path, got, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".hermes-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); string(text) != "x" || err != nil {
		t.Errorf("the file is %q, %v", text, err)
	}
}

func TestExecutable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no such mode there")
	}
	dir := t.TempDir()
	w, err := Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for before, want := range map[os.FileMode]os.FileMode{0o644: 0o755, 0o600: 0o700, 0o640: 0o750} {
		path := filepath.Join(dir, before.String())
		if err := os.WriteFile(path, nil, before); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, before); err != nil { // whatever the umask
			t.Fatal(err)
		}
		for _, on := range []bool{true, false} {
			if err := w.Executable(t.Context(), path, on); err != nil {
				t.Fatal(err)
			}
			if !on {
				want = before
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%v, executable %v: %v, %v, want %v", before, on, info.Mode(), err, want)
			}
		}
	}
	if err := w.Executable(t.Context(), ".", true); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a folder: %v", err)
	}
}
