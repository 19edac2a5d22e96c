package safefile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/safefile/hostile"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("twelve bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		limit int64
		text  string
		want  error
	}{
		{12, "twelve bytes", nil},
		{11, "", safefile.ErrTooLarge},
	} {
		for _, read := range readers(dir, "x", tc.limit) {
			if text, err := read(); string(text) != tc.text || !errors.Is(err, tc.want) {
				t.Errorf("limit %d: %q, %v", tc.limit, text, err)
			}
		}
	}
	for _, read := range readers(dir, "none", 1) {
		if _, err := read(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that is not there: %v", err)
		}
	}
}

func readers(dir, name string, limit int64) []func() ([]byte, error) {
	return []func() ([]byte, error){
		func() ([]byte, error) { return safefile.Read(filepath.Join(dir, name), limit) },
		func() ([]byte, error) { return safefile.ReadBelow(dir, name, limit) },
	}
}

// Each thing in the place of a file is an error, at once and without memory.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, thing := range hostile.Obstacles(t) {
		t.Run(thing.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			thing.Put(t, filepath.Join(dir, "x"))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for _, read := range readers(dir, "x", 1<<20) {
				if text, err := read(); err == nil {
					t.Errorf("%d bytes were read", len(text))
				}
			}
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d MB were used", used>>20)
			}
		})
	}
}

// A link is followed, but not out of the folder of ReadBelow.
func TestLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	outer := t.TempDir()
	dir := filepath.Join(outer, "dir")
	for name, text := range map[string]string{"secret": "outside", "dir/real": "inside"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(outer, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(outer, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"in": "real", "up": "../secret", "abs": filepath.Join(outer, "secret")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][2]string{"in": {"inside", "inside"}, "up": {"outside", ""}, "abs": {"outside", ""}} {
		for i, read := range readers(dir, name, 100) {
			if text, _ := read(); string(text) != want[i] {
				t.Errorf("%s, reader %d: %q, want %q", name, i, text, want[i])
			}
		}
	}
}

// A directory is opened. Any other file returns an error at once.
func TestOpenRoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := safefile.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	sub, err := safefile.OpenRootIn(root, "sub")
	if err != nil {
		t.Fatal(err)
	}
	sub.Close()
	for _, thing := range hostile.Obstacles(t) {
		if strings.HasPrefix(thing.Name, "folder") {
			continue
		}
		name := "x-" + strings.ReplaceAll(thing.Name, " ", "-")
		thing.Put(t, filepath.Join(dir, name))
		if sub, err := safefile.OpenRootIn(root, name); err == nil {
			sub.Close()
			t.Errorf("%s was opened as a folder", thing.Name)
		}
		if sub, err := safefile.OpenRoot(filepath.Join(dir, name)); err == nil {
			sub.Close()
			t.Errorf("%s was opened as a folder", thing.Name)
		}
	}
}

// A file that the kernel generates is rejected, under any name.
func TestKernelFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has such files")
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, path := range []string{"/proc/self/environ", "/proc/version", fmt.Sprint("/dev/fd/", f.Fd())} {
		link := filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		if text, err := safefile.Read(link, 1<<20); err == nil {
			t.Errorf("%s was read: %d bytes", path, len(text))
		}
	}
}
