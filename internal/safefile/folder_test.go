package safefile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/safefile/hostile"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// folderBed is a folder writable by commands, beside a directory outside of it.
type folderBed struct {
	t            *testing.T
	dir, outside string
	*safefile.Folder
}

func newFolder(t *testing.T) *folderBed {
	t.Helper()
	outer := t.TempDir()
	b := &folderBed{t: t, dir: filepath.Join(outer, "dir"), outside: filepath.Join(outer, "outside")}
	b.put("outside/secret", "secret")
	b.put("outside/sub/secret", "secret")
	b.put("dir/a/b/file", "inside")
	f, err := safefile.OpenFolder(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	b.Folder = f
	return b
}

func (b *folderBed) put(name, text string) {
	b.t.Helper()
	path := filepath.Join(filepath.Dir(b.dir), name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *folderBed) link(target, name string) {
	b.t.Helper()
	if runtime.GOOS == "windows" {
		b.t.Skip("links need a privilege there")
	}
	if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

// untouched checks that nothing outside was changed.
func (b *folderBed) untouched() {
	b.t.Helper()
	seen := ""
	_ = filepath.WalkDir(b.outside, func(path string, d fs.DirEntry, err error) error {
		text := []byte{}
		if err == nil && d.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		info, statErr := d.Info()
		if err != nil || statErr != nil {
			b.t.Error(err, statErr)
			return nil
		}
		seen += fmt.Sprintf("%s %s %v\n", strings.TrimPrefix(path, b.outside), text, info.Mode())
		return nil
	})
	if want := " %drwx------\n"; strings.Count(seen, "\n") != 4 || strings.Count(seen, " secret -rw-------\n") != 2 {
		b.t.Errorf("outside is now\n%s, want four as %s", seen, want)
	}
}

// every calls each operation on a name and returns the operations that wrongly succeeded.
func (b *folderBed) every(name string) (passed []string) {
	for op, do := range map[string]func() error{
		"sub":      func() error { f, err := b.Sub(name); b.close(f, err); return err },
		"lstat":    func() error { _, err := b.Lstat(name); return err },
		"readlink": func() error { _, err := b.Readlink(name); return err },
		"open":     func() error { f, _, err := b.Open(name); b.close(f, err); return err },
		"read":     func() error { _, err := b.Read(name, 100); return err },
		"readdir":  func() error { _, err := b.ReadDir(name, 100); return err },
		"mkdir":    func() error { return b.Mkdir(name, 0o700) },
		"mkdirall": func() error { return b.MkdirAll(name, 0o700) },
		"create":   func() error { f, err := b.Create(name, 0o600); b.close(f, err); return err },
		"write":    func() error { return b.Write(name, []byte("written"), 0o600) },
		"chmod":    func() error { return b.Chmod(name, 0o777) },
		"from":     func() error { return b.Rename(name, "moved") },
		"to":       func() error { return b.Rename("a", name) },
		"symlink":  func() error { return b.Symlink("x", name) },
		"remove":   func() error { return b.Remove(name) },
		"all":      func() error { return b.RemoveAll(name) },
	} {
		if do() == nil {
			passed = append(passed, op)
		}
	}
	return passed
}

func (b *folderBed) close(c io.Closer, err error) {
	if err == nil {
		c.Close()
	}
}

// No operation goes through a link, to wherever it leads, nor out of the folder.
func TestFolderFollowsNothing(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"../outside", "ABSOLUTE", "a", "a/b/../../../outside", "/", "../dir/a", "via/sub", "self"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			b := newFolder(t)
			b.link("../outside", "via")
			b.link("self", "self")
			b.link(strings.Replace(target, "ABSOLUTE", b.outside, 1), "link")
			for _, name := range []string{"link/secret", "link/sub/secret", "link/new", "link/b/file", "link/b", "link/."} {
				if name == "link/." {
					continue // is the link itself
				}
				if passed := b.every(name); len(passed) > 0 {
					t.Errorf("%s: %v", name, passed)
				}
			}
			b.untouched()
		})
	}
	b := newFolder(t)
	for _, name := range []string{"..", "../outside/secret", "a/../../outside/secret", b.outside, "", "a\x00b", "../dir/a"} {
		if passed := b.every(name); len(passed) > 0 {
			t.Errorf("%q: %v", name, passed)
		}
	}
	b.untouched()
}

// A link at the end of a path is described, replaced and removed itself.
func TestFolderLastLink(t *testing.T) {
	t.Parallel()
	b := newFolder(t)
	b.link("../outside/secret", "link")
	b.link("../outside", "folder")
	if target, err := b.Readlink("link"); target != "../outside/secret" || err != nil {
		t.Errorf("leads to %q, %v", target, err)
	}
	for _, name := range []string{"link", "folder"} {
		if _, err := b.Read(name, 100); !errors.Is(err, safefile.ErrNotRegular) {
			t.Errorf("%s was read: %v", name, err)
		}
		if _, err := b.Sub(name); !errors.Is(err, safefile.ErrLink) {
			t.Errorf("%s was opened: %v", name, err)
		}
		if _, err := b.Create(name, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s was created: %v", name, err)
		}
		if err := b.Chmod(name, 0o777); err == nil {
			t.Errorf("the mode of %s was changed", name)
		}
	}
	if err := b.Write("link", []byte("new"), 0o600); err != nil {
		t.Error(err)
	}
	if text, err := b.Read("link", 100); string(text) != "new" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := b.RemoveAll("folder"); err != nil {
		t.Error(err)
	}
	b.untouched()
}

// A hard link to a file outside is replaced, not written through.
func TestFolderHardLink(t *testing.T) {
	t.Parallel()
	b := newFolder(t)
	if err := os.Link(filepath.Join(b.outside, "secret"), filepath.Join(b.dir, "hard")); err != nil {
		t.Skip(err)
	}
	info, err := b.Lstat("hard")
	if err != nil {
		t.Fatal(err)
	}
	if _, names, known := safefile.Links(info); known && names != 2 {
		t.Errorf("it has %d names", names)
	}
	if err := b.Write("hard", []byte("new"), 0o644); err != nil {
		t.Error(err)
	}
	b.untouched()
}

func TestFolderOrdinary(t *testing.T) {
	t.Parallel()
	b := newFolder(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(b.MkdirAll("x/y/z", 0o755))
	must(b.MkdirAll("x/y/z", 0o755))
	must(b.MkdirAll(".", 0o755))
	must(b.Write("x/y/z/file", []byte("one"), 0o644))
	must(b.Write("x/y/z/file", []byte("two"), 0o644))
	f, err := b.Create("x/new", 0o600)
	must(err)
	must(f.Close())
	if text, err := b.Read("x/y/z/file", 3); string(text) != "two" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := b.Read("x/y/z/file", 2); !errors.Is(err, safefile.ErrTooLarge) {
		t.Errorf("too much was read: %v", err)
	}
	must(b.Chmod("x/new", 0o640))
	if info, err := b.Lstat("x/new"); err != nil || info.Name() != "new" || runtime.GOOS != "windows" && info.Mode() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	must(b.Rename("x/new", "x/newer"))
	sub, err := b.Sub("x/y")
	must(err)
	defer sub.Close()
	if text, err := sub.Read("z/file", 3); string(text) != "two" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for range 2 { // each listing begins anew
		if entries, err := b.ReadDir("x", 10); len(entries) != 2 || err != nil {
			t.Errorf("%v, %v", entries, err)
		}
	}
	if entries, err := b.ReadDir("x", 1); len(entries) != 1 || !errors.Is(err, safefile.ErrTooLarge) {
		t.Errorf("%v, %v", entries, err)
	}
	must(b.RemoveAll("none"))
	must(b.RemoveAll("x"))
	if _, err := b.Lstat("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A special file is not opened, and no call blocks.
func TestFolderHostile(t *testing.T) {
	t.Parallel()
	b := newFolder(t)
	for i, thing := range hostile.Obstacles(t) {
		name := fmt.Sprint("thing", i)
		thing.Put(t, filepath.Join(b.dir, name))
		if text, err := b.Read(name, 1<<20); err == nil {
			t.Errorf("%s: %d bytes were read", thing.Name, len(text))
		}
		if err := b.Write(name+"x", nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	if err := b.RemoveAll("a"); err != nil {
		t.Error(err)
	}
}

// A directory is removed with subdirectories that cannot be entered, with links, which are not
// followed, and at any depth.
func TestFolderRemoveAll(t *testing.T) {
	t.Parallel()
	b := newFolder(t)
	b.link("../../outside", "a/link")
	at := b.dir
	const depth = 1500 // more than PATH_MAX has room for
	here, err := os.OpenRoot(at)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := here.Mkdir("deeper", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := here.OpenRoot("deeper")
		here.Close()
		if err != nil {
			t.Fatal(err)
		}
		here = next
	}
	here.Close()
	if err := errors.Join(os.Chmod(filepath.Join(b.dir, "a/b"), 0), os.Chmod(filepath.Join(b.dir, "a"), 0o200)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "deeper"} {
		if err := b.RemoveAll(name); err != nil {
			t.Error(err)
		}
	}
	if left, err := b.ReadDir(".", 10); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	b.untouched()
}

// While a folder is exchanged for a link and back, nothing outside is read or written.
func TestFolderRaces(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	b := newFolder(t)
	b.put("outside/b/file", "outside")
	b.link("../outside", "link")
	var stop atomic.Bool
	var swapping sync.WaitGroup
	path := func(name string) string { return filepath.Join(b.dir, name) }
	swapping.Go(func() {
		for !stop.Load() {
			_ = os.Rename(path("a"), path("put-aside"))
			_ = os.Rename(path("link"), path("a"))
			_ = os.Rename(path("a"), path("link"))
			_ = os.Rename(path("put-aside"), path("a"))
		}
	})
	read := 0
	for i := 0; i < 1_000 || read == 0; i++ {
		text, err := b.Read("a/b/file", 100)
		if err == nil && string(text) != "inside" && string(text) != "new" {
			t.Fatalf("%q was read", text)
		}
		if err == nil {
			read++
		}
		_ = b.Write("a/b/file", []byte("new"), 0o600)
		_ = b.MkdirAll("a/b/c", 0o700)
		_ = b.RemoveAll("a/b/c")
	}
	stop.Store(true)
	swapping.Wait()
	if text, err := os.ReadFile(filepath.Join(b.outside, "b", "file")); string(text) != "outside" || err != nil {
		t.Errorf("outside was written: %q, %v", text, err)
	}
	if entries, err := os.ReadDir(filepath.Join(b.outside, "b")); len(entries) != 1 || err != nil {
		t.Errorf("outside was written: %v, %v", entries, err)
	}
}
