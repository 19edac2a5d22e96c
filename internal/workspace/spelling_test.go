package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/search"
)

// A model spells paths as other systems do, or with characters around them. The file is found, and
// no file of the odd name is made.
func TestSpellingOfAnotherSystem(t *testing.T) {
	t.Parallel()
	parent := tempDir(t)
	dir := filepath.Join(parent, "shop")
	writeFiles(t, dir, map[string]string{"src/main.go": "main", "src/a b.go": "space", "README.md": "readme", "pages/[id].tsx": "id", "docs/50% off.md": "off"})
	w, err := Open([]string{dir}, nil)
	must(t, err)
	defer w.Close()
	abs := filepath.Join(dir, "src/main.go")
	for _, spelling := range []string{
		`src\main.go`, `.\src\main.go`, `C:\Users\me\shop\src\main.go`, `c:/work/shop/src/main.go`, "/c/work/shop/src/main.go", "/mnt/d/shop/src/main.go",
		`\\wsl$\Ubuntu` + strings.ReplaceAll(abs, "/", `\`), `//wsl.localhost/Debian` + abs,
		"file://" + abs, "file://" + abs + "#L3", "`src/main.go`", `"src/main.go"`, "'src/main.go'", "“src/main.go”", "<src/main.go>", "<path>src/main.go</path>",
		"[main](src/main.go)", "[main.go](" + abs + ":12)", "src/main.go:12", "src/main.go:12:5", "src/main.go:12-20", "src/main.go#L12-L20", "src/main.go(12,5)", "src/main.go:",
		" src/main.go ", "src/main.go\n", "@src/main.go", "@`src/main.go`", "a/src/main.go", "b/src/main.go", "shop/src/main.go", "/src/main.go", "/workspace/shop/src/main.go",
		"./src/main.go", "src//main.go", "src%2Fmain.go", "${workspaceFolder}/src/main.go", "\"`src/main.go:12`\"",
	} {
		if f, err := w.Read(t.Context(), spelling); err != nil || f.Name != "src/main.go" {
			t.Errorf("%q: %v, %v", spelling, f, err)
		}
	}
	for spelling, want := range map[string]string{
		`src/a\ b.go`: "space", "src/a%20b.go": "space", `"src/a b.go"`: "space", "pages/[id].tsx": "id", "docs/50% off.md": "off", "docs/50%25%20off.md": "off", "/README.md": "readme",
	} {
		if f, err := w.Read(t.Context(), spelling); err != nil || string(f.Text) != want {
			t.Errorf("%q: %v, %v", spelling, f, err)
		}
	}
	for spelling, want := range map[string]string{
		`src\new1.go`: "src/new1.go", "`src/new2.go`": "src/new2.go", `C:\x\shop\src\new3.go`: "src/new3.go", "src/new4.go:12": "src/new4.go", `"new dir/x.go"`: "new dir/x.go",
		"@src/new5.go": "src/new5.go", "/src/new6.go": "src/new6.go", "pages/[slug].tsx": "pages/[slug].tsx", "@types/x.d.ts": "@types/x.d.ts", "shop/__init__.py": "shop/__init__.py",
		"a/b.go": "a/b.go", "src/new%20file.go": "src/new file.go", "it's.md": "it's.md", "<path>src/new7.go</path>": "src/new7.go",
	} {
		written, err := w.Write(t.Context(), spelling, []byte("x"))
		if err != nil || written.Name != want {
			t.Errorf("write %q: %v, %v; want %s", spelling, written, err, want)
		}
	}
	for _, spelling := range []string{`C:\Windows\evil.txt`, `D:\other\x.go`, "/etc/hermes-new", "../x.go", `..\x.go`, "`../x.go`", "file:///etc/hermes-new"} {
		if _, err := w.Write(t.Context(), spelling, []byte("x")); !errors.Is(err, ErrOutside) {
			t.Errorf("write %q: %v", spelling, err)
		}
	}
	if _, err := w.Read(t.Context(), "`src/mian.go`"); err == nil || !strings.Contains(err.Error(), "did you mean src/main.go?") {
		t.Error(err)
	}
	must(t, os.WriteFile(filepath.Join(dir, `odd\name`), []byte("odd"), 0o644))
	if f, err := w.Read(t.Context(), `odd\name`); err != nil || string(f.Text) != "odd" {
		t.Errorf("a file of an odd name: %v, %v", f, err)
	}
}

// A file is found under a lookalike name, and a write makes no second file.
func TestNamesThatLookTheSame(t *testing.T) {
	t.Parallel()
	const nfc, nfd = "caf\u00e9", "cafe\u0301"
	for _, names := range [][2]string{{nfc, nfd}, {nfd, nfc}, {"\u1112\u1161\u11ab", "\ud55c"}, {"shot 10.00\u202fAM", "shot 10.00 AM"}, {"it\u2019s", "it's"}} {
		disk, given := names[0], names[1]
		dir := tempDir(t)
		writeFiles(t, dir, map[string]string{disk + "/" + disk + ".txt": "old"})
		w, err := Open([]string{dir}, nil)
		must(t, err)
		defer w.Close()
		if f, err := w.Read(t.Context(), given+"/"+given+".txt"); err != nil || string(f.Text) != "old" {
			t.Errorf("%q: %v, %v", given, f, err)
		}
		if _, err := w.Write(t.Context(), filepath.Join(dir, given, given+".txt"), []byte("new")); err != nil {
			t.Error(err)
		}
		if _, err := w.Write(t.Context(), given+"/other.txt", []byte("new")); err != nil {
			t.Error(err)
		}
		if _, err := w.Batch(t.Context(), []Action{{Path: given + "/" + given + ".txt", Change: func([]byte) ([]byte, error) { return []byte("patched"), nil }}}); err != nil {
			t.Error(err)
		}
		top, _ := os.ReadDir(dir)
		below, _ := os.ReadDir(filepath.Join(dir, disk))
		text, _ := os.ReadFile(filepath.Join(dir, disk, disk+".txt"))
		if len(top) != 1 || len(below) != 2 || string(text) != "patched" {
			t.Errorf("%q: %v, %v, %q", disk, top, below, text)
		}
		if found, err := w.Search(t.Context(), search.Query{Pattern: "patched", Path: given, Limit: 5}); err != nil || len(found.Matches) != 1 {
			t.Errorf("search in %q: %v, %v", given, found, err)
		}
	}
}

// With several folders, a path may begin with a folder's name. A suggestion names its folder.
func TestPathsOfSeveralFolders(t *testing.T) {
	t.Parallel()
	parent := tempDir(t)
	one, two := filepath.Join(parent, "one"), filepath.Join(parent, "two")
	writeFiles(t, one, map[string]string{"main.go": "one", "lib/one.go": "1"})
	writeFiles(t, two, map[string]string{"main.go": "two", "lib/two.go": "2"})
	w, err := Open([]string{one, two}, nil)
	must(t, err)
	defer w.Close()
	for spelling, want := range map[string]string{"main.go": "one", "one/main.go": "one", "two/main.go": "two", "two/lib/two.go": "2", `two\main.go`: "two", "@two/main.go": "two"} {
		if f, err := w.Read(t.Context(), spelling); err != nil || string(f.Text) != want {
			t.Errorf("%q: %v, %v", spelling, f, err)
		}
	}
	if written, err := w.Write(t.Context(), "two/new.go", []byte("x")); err != nil || written.Path != filepath.Join(two, "new.go") {
		t.Error(written, err)
	}
	for spelling, want := range map[string]string{
		"lib/two.go": filepath.Join(two, "lib/two.go"), "two.go": filepath.Join(two, "lib/two.go"), "two/lib/tow.go": filepath.Join(two, "lib/two.go"), "lib/oen.go": "lib/one.go",
	} {
		if _, err := w.Read(t.Context(), spelling); err == nil || !strings.Contains(err.Error(), "did you mean "+want+"?") {
			t.Errorf("%q: %v; want %s", spelling, err, want)
		}
	}
}
