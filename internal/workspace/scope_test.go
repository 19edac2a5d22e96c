package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/search"
)

// scopeTree is a workspace with an outside beside it, and links both ways.
func scopeTree(t *testing.T) (w *Workspace, dir, outside string) {
	t.Helper()
	base := tempDir(t)
	dir, outside = filepath.Join(base, "work"), filepath.Join(base, "work-other")
	second := filepath.Join(base, "second")
	writeFiles(t, base, map[string]string{
		"work/a.txt":            "a",
		"work/sub/b.txt":        "b",
		"work/inner/c.txt":      "c",
		"second/d.txt":          "d",
		"work-other/secret.txt": "secret",
	})
	for link, target := range map[string]string{
		"rel.txt":       "sub/b.txt",
		"abs.txt":       filepath.Join(dir, "a.txt"),
		"absdir":        filepath.Join(dir, "sub"),
		"chain.txt":     "absdir/../rel.txt",
		"toSecond":      second,
		"out.txt":       filepath.Join(outside, "secret.txt"),
		"outrel.txt":    "../work-other/secret.txt",
		"outdir":        outside,
		"viaabs":        "absdir",
		"loop":          "loop",
		"dangling":      "sub/new.txt",
		"danglingOut":   "../nowhere/new.txt",
		"proc":          "/proc/self/cwd/a.txt",
		"sub/up.txt":    "../a.txt",
		"sub/upout.txt": "../../work-other/secret.txt",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	return openDirs(t, nil, dir, filepath.Join(dir, "inner"), second), dir, outside
}

func TestScope(t *testing.T) {
	t.Parallel()
	w, dir, outside := scopeTree(t)
	second := w.Folders()[2]
	for _, test := range []struct {
		path string
		want string // content, or empty: refused
		err  error
	}{
		{"a.txt", "a", nil},
		{"./sub//b.txt", "b", nil},
		{"sub/../a.txt", "a", nil},
		{dir + "/a.txt", "a", nil},
		{dir + "/inner/c.txt", "c", nil},
		{filepath.Join(second, "d.txt"), "d", nil},
		{"../second/d.txt", "d", nil},
		{"rel.txt", "b", nil},
		{"abs.txt", "a", nil},
		{"absdir/b.txt", "b", nil},
		{"viaabs/b.txt", "b", nil},
		{"chain.txt", "b", nil},
		{"toSecond/d.txt", "d", nil},
		{"sub/up.txt", "a", nil},

		{"../work-other/secret.txt", "", ErrOutside},
		{"..", "", ErrOutside},
		{"sub/../../work-other/secret.txt", "", ErrOutside},
		{outside + "/secret.txt", "", ErrOutside},
		{dir + "-other/secret.txt", "", ErrOutside},
		{"out.txt", "", ErrOutside},
		{"outrel.txt", "", ErrOutside},
		{"outdir/secret.txt", "", ErrOutside},
		{"absdir/upout.txt", "", ErrOutside},
		{"danglingOut", "", ErrOutside},
		{"/proc/self/environ", "", ErrOutside},
		{"/proc/self/cwd/scope_test.go", "", ErrOutside},
		{"proc", "", ErrOutside},
		{"/etc/passwd", "", ErrOutside},
		{"~/a.txt", "", ErrOutside},
		{"file:///a.txt", "", ErrOutside},
		{"file:/a.txt", "", ErrOutside},
		{"a.txt\x00.png", "", ErrOutside},
		{"", "", ErrNotFound},
		{"loop", "", ErrNotFound},
		{"dangling", "", ErrNotFound},
		{"none/none", "", ErrNotFound},
		{"a.txt/x", "", ErrNotFound},
		{".", "", ErrNotRegular},
		{"sub", "", ErrNotRegular},
	} {
		file, err := w.Read(t.Context(), test.path)
		switch {
		case test.err == nil && (err != nil || string(file.Text) != test.want):
			t.Errorf("Read(%q) = %v, %v; want %q", test.path, file, err, test.want)
		case test.err != nil && !errors.Is(err, test.err):
			t.Errorf("Read(%q) = %v; want %v", test.path, err, test.err)
		}
		if test.err != ErrOutside {
			continue
		}
		var pathErr *PathError
		if _, err := w.Abs(test.path); !errors.As(err, &pathErr) || pathErr.Path != test.path {
			t.Errorf("Abs(%q) = %v", test.path, err)
		}
		if _, err := w.Write(t.Context(), test.path, []byte("x")); !errors.Is(err, ErrOutside) {
			t.Errorf("Write(%q) = %v", test.path, err)
		}
		if _, err := w.Search(t.Context(), search.Query{Pattern: "s", Path: test.path}); !errors.Is(err, ErrOutside) {
			t.Errorf("Search in %q = %v", test.path, err)
		}
	}
	if got := onDisk(t, filepath.Join(outside, "secret.txt")); got != "secret" {
		t.Errorf("the outside file now reads %q", got)
	}
	if got := names(t, outside); len(got) != 1 {
		t.Errorf("the outside folder now holds %q", got)
	}
}

// A file is reached by its name, whatever the name stands for in other programs.
func TestNamesThatStandForSomething(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFiles(t, dir, map[string]string{"~": "a", "sub/~": "b", "-rf": "c", "*": "d", "$HOME": "e", "file:/x": "f", "con": "g", "~root": "h", " ": "i", "a\nb": "j", "a\x1bb": "k"})
	w := openDirs(t, nil, dir)
	for name, want := range map[string]string{"~": "a", "./~": "a", "sub/~": "b", "-rf": "c", "*": "d", "$HOME": "e", "file:/x": "f", "con": "g", "~root": "h", " ": "i", "a\nb": "j", "a\x1bb": "k"} {
		if file, err := w.Read(t.Context(), name); err != nil || string(file.Text) != want {
			t.Errorf("%q: %v, %v", name, file, err)
		}
	}
}

func TestAbsAndName(t *testing.T) {
	t.Parallel()
	w, dir, _ := scopeTree(t)
	link := filepath.Join(filepath.Dir(dir), "link")
	must(t, os.Symlink(dir, link))
	for path, want := range map[string]string{
		"a.txt":            "a.txt",
		"rel.txt":          "sub/b.txt",
		"absdir/new/x.txt": "sub/new/x.txt",
		"dangling":         "sub/new.txt",
		".":                ".",
		link + "/a.txt":    "a.txt",
	} {
		abs, err := w.Abs(path)
		if err != nil || w.Name(abs) != want {
			t.Errorf("Abs(%q) = %q, %v; want %q", path, abs, err, want)
		}
	}
	viaLink := openDirs(t, nil, link)
	if got := viaLink.Name(filepath.Join(link, "a.txt")); got != "a.txt" {
		t.Errorf("Name of the spelling that was given = %q", got)
	}
	if got := viaLink.Folders()[0]; got != dir {
		t.Errorf("Folders = %q, want links resolved", got)
	}
}

func TestWriteThroughLink(t *testing.T) {
	t.Parallel()
	w, dir, _ := scopeTree(t)
	for link, target := range map[string]string{"rel.txt": "sub/b.txt", "abs.txt": "a.txt", "dangling": "sub/new.txt"} {
		if _, err := w.Write(t.Context(), link, []byte("new "+link)); err != nil {
			t.Errorf("Write(%s): %v", link, err)
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, link))
		must(t, err)
		if info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", link)
		}
		if got := onDisk(t, filepath.Join(dir, target)); got != "new "+link {
			t.Errorf("%s reads %q", target, got)
		}
	}
}

// A folder is swapped for a link to the outside, back and forth, while it is read,
// written, listed and searched: nothing from outside is ever seen or touched.
func TestSwapRace(t *testing.T) {
	t.Parallel()
	base := tempDir(t)
	writeFiles(t, base, map[string]string{"work/d/f.txt": "inside", "work/keep": "", "out/f.txt": "OUTSIDE", "out/only.txt": "OUTSIDE"})
	dir, out := filepath.Join(base, "work"), filepath.Join(base, "out")
	must(t, os.Symlink(out, filepath.Join(dir, "evil")))
	runner := rg(t) // it may end the test
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		d, real, evil := filepath.Join(dir, "d"), filepath.Join(dir, "real"), filepath.Join(dir, "evil")
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, step := range [][2]string{{d, real}, {evil, d}, {d, evil}, {real, d}} {
				if os.Rename(step[0], step[1]) != nil {
					// A write has made the folder anew in between.
					if err := errors.Join(os.RemoveAll(step[1]), os.Rename(step[0], step[1])); err != nil {
						t.Log(err)
					}
				}
			}
		}
	})
	var using sync.WaitGroup
	for range 2 {
		using.Go(func() { abuse(t, dir, runner) })
	}
	using.Wait()
	close(stop)
	swapping.Wait()
	if got := onDisk(t, filepath.Join(out, "f.txt")); got != "OUTSIDE" {
		t.Errorf("the outside file was written: %q", got)
	}
	if got := names(t, out); len(got) != 2 {
		t.Errorf("the outside folder holds %q", got)
	}
}

func abuse(t *testing.T, dir string, runner search.Runner) {
	w := openDirs(t, nil, dir)
	for range 4000 { // quick attempts, to hit the short moment between two steps
		if f, err := w.Read(t.Context(), "d/f.txt"); err == nil && strings.Contains(string(f.Text), "OUTSIDE") {
			t.Error("read the outside")
			return
		}
	}
	for i := range 150 {
		w := openDirs(t, nil, dir)
		if i%5 == 0 {
			w.Ripgrep = runner
		}
		if f, err := w.Read(t.Context(), "d/f.txt"); err == nil && strings.Contains(string(f.Text), "OUTSIDE") {
			t.Error("read the outside")
		}
		if win, err := w.Lines(t.Context(), "d/f.txt", 1, 10); err == nil && strings.Contains(strings.Join(win.Lines, ""), "OUTSIDE") {
			t.Error("read lines of the outside")
		}
		if entries, err := w.List(t.Context(), "d"); err == nil {
			for _, e := range entries {
				if e.Name() == "only.txt" {
					t.Error("listed the outside")
				}
			}
		}
		if found, err := w.Search(t.Context(), search.Query{Pattern: "OUTSIDE"}); err == nil && len(found.Matches) > 0 {
			t.Error("searched the outside")
		}
		if found, err := w.Search(t.Context(), search.Query{Pattern: "only.txt", Files: true}); err == nil && len(found.Files) > 0 {
			t.Error("found a name of the outside")
		}
		_, _ = w.Write(t.Context(), "d/f.txt", []byte("written"))
		_, _ = w.Write(t.Context(), "d/fresh/new.txt", []byte("written"))
		_ = w.Remove(t.Context(), "d/only.txt")
		_ = w.Rename(t.Context(), "d/fresh/new.txt", "d/moved.txt")
		_ = w.Remove(t.Context(), "d/moved.txt")
		must(t, w.Close())
	}
}
