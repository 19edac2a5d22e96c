package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/search"
)

// A command can make a long chain of directories in an instant. It does not fill the memory with
// paths: a scan and a search end at the longest path programs can open.
func TestWalksEndInDeepChains(t *testing.T) {
	t.Parallel()
	w, dir := open(t, map[string]string{"a.txt": "x\n"}, nil)
	deepest, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	const levels = 1500 // 9 bytes each
	for range levels {
		if err := deepest.Mkdir("dddddddd", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := deepest.OpenRoot("dddddddd")
		if err != nil {
			t.Fatal(err)
		}
		deepest.Close()
		deepest = next
	}
	if err := deepest.WriteFile("f", []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	deepest.Close()
	var visited atomic.Int64
	err = w.Scan(t.Context(), Scan{Visit: func(found []Entry) {
		for _, e := range found {
			if visited.Add(1); len(e.Path) > search.LongestPath+len("/dddddddd") {
				t.Errorf("visited a path of %d bytes", len(e.Path))
			}
		}
	}})
	if err != nil {
		t.Error(err)
	}
	if n := visited.Load(); n < 100 || n > search.LongestPath/9+2 {
		t.Errorf("%d entries were visited", n)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var files []string
	at := search.Location{Folder: dir, Root: root, Rel: "."}
	rules := w.gitRules(place{w.current()[0], "."})
	err = search.Walk(t.Context(), at, rules, func(string) bool { return false }, func(f search.File) { files = append(files, filepath.Base(f.Path)) })
	if err != nil || strings.Join(files, " ") != "a.txt" {
		t.Errorf("the walk found %q, %v", files, err)
	}
}
