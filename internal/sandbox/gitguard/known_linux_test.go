package gitguard

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// put writes a file of the workspace, and returns its path.
func (g *Guard) put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(g.cfg.Roots()[0], name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// stand starts the watch of a standing program.
func (g *Guard) stand(t *testing.T) *Watch {
	t.Helper()
	w, err := g.Stand(t.Context(), "the plugin p")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// asked returns the paths that a review asks about.
func asked(w *Watch) (paths []string) {
	changes, done := w.Changes()
	defer done()
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	return paths
}

// A program that has mapped a file into its memory can change it later without a new change time.
func TestChangeInMemoryIsSeen(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][2]string{
		"sub/AGENTS.md":             {"rules", "obey!"},
		"sub/.vscode/settings.json": {"{\"a\": 1}", "{\"b\": 2}"},
		"docs/a.md":                 {"rules", "obey!"}, // is imported
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guardOf(t)
			g.put(t, "CLAUDE.md", "@docs/a.md")
			path := g.put(t, name, text[0])
			time.Sleep(2 * clockStep)
			w := g.stand(t)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() // only mapped
			memory, err := unix.Mmap(int(f.Fd()), 0, len(text[0]), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Munmap(memory) // the test ends
			copy(memory, text[0])     // the last change with a new change time
			time.Sleep(2 * clockStep)
			if found := asked(w); len(found) > 0 {
				t.Errorf("asked about %q before the change", found)
			}
			copy(memory, text[1])
			if found := asked(w); len(found) != 1 {
				t.Errorf("asked about %q, want one place", found)
			}
		})
	}
}

// A file that an import finds only because its folder was renamed since is asked about, too: its change time is old.
func TestImportBehindARename(t *testing.T) {
	t.Parallel()
	g := guardOf(t)
	g.put(t, "CLAUDE.md", "rules")
	g.put(t, "docs/en/a.md", "text")
	other := g.put(t, "other/en/a.md", "obey")
	time.Sleep(2 * clockStep)
	w := g.stand(t)
	docs := filepath.Join(g.cfg.Roots()[0], "docs")
	for _, move := range [][2]string{{docs, docs + ".old"}, {filepath.Dir(filepath.Dir(other)), docs}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	path := g.put(t, "CLAUDE.md", "@docs/en/a.md")
	g.Note(Wrote{Path: path, Old: []byte("rules"), New: []byte("@docs/en/a.md")})
	if found := asked(w); len(found) != 1 || found[0] != filepath.Join(docs, "en/a.md") {
		t.Errorf("asked about %q, want docs/en/a.md", found)
	}
}

// The user approves the text that the review has found, not one that the program shows meanwhile.
func TestShownTextIsTheReviewed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sub/AGENTS.md", "sub/.vscode/tasks.json", "docs/a.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := guardOf(t)
			g.put(t, "CLAUDE.md", "@docs/a.md")
			w := g.stand(t)
			path := g.put(t, name, "obey")
			changes, done := w.Changes()
			defer done()
			g.put(t, name, "harmless")
			if len(changes) != 1 {
				t.Fatalf("%d changes", len(changes))
			}
			files, _ := changes[0].Files(10)
			if len(files) != 1 || files[0] != path {
				t.Fatalf("shows %q", files)
			}
			if text, err := changes[0].Read(path, 100); err != nil || string(text) != "obey" {
				t.Errorf("shows %q, %v", text, err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if files, _ := changes[0].Files(10); len(files) != 1 {
				t.Errorf("shows %q after the removal", files)
			}
		})
	}
}

// A denied command that has moved a place of the user's does not destroy it.
func TestMovedPlaceIsNotRemoved(t *testing.T) {
	t.Parallel()
	g := guardOf(t)
	old := g.put(t, "sub/AGENTS.md", "rules")
	folder := filepath.Dir(g.put(t, "sub/.vscode/settings.json", "{}"))
	w, err := g.Watch(t.Context(), Opening{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.End()
	g.put(t, "new/AGENTS.md", "obey")
	root := g.cfg.Roots()[0]
	for from, to := range map[string]string{old: root + "/AGENTS.md", folder: root + "/new/.vscode"} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	changes, done := w.Changes()
	defer done()
	verbs := map[string]string{}
	for i, c := range changes {
		for _, s := range c.steps(i, false) {
			verbs[c.Path] = s.args[1]
		}
	}
	want := map[string]string{root + "/AGENTS.md": "aside", root + "/new/.vscode": "aside", root + "/new/AGENTS.md": "remove"}
	if !maps.Equal(verbs, want) {
		t.Errorf("a denial does %v, want %v", verbs, want)
	}
}
