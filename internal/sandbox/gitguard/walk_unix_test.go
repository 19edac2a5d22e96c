//go:build unix

package gitguard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If a command has made folders too deep to scan, and the user denies them, no text asks to remove
// the workspace.
func TestDeniedFoldersAreNotTheWorkspace(t *testing.T) {
	t.Parallel()
	g := guardOf(t)
	root := g.cfg.Roots()[0]
	w, err := g.Watch(t.Context(), Opening{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, strings.Repeat("d/", walkDepth+10)), 0o755); err != nil {
		t.Fatal(err)
	}
	changes, done := w.Changes()
	if len(changes) != 1 {
		t.Fatalf("%+v", changes)
	}
	want := "folders in " + root + " that are too many or too deep"
	errs := w.Remove(t.Context(), changes)
	done()
	w.End()
	_, stuck := g.Scene()
	for _, text := range []string{changes[0].What, errs[0].Error(), stuck.Error()} {
		if !strings.Contains(text, want) || strings.Contains(text, "removing "+root) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if err := os.RemoveAll(filepath.Join(root, "d")); err != nil {
		t.Fatal(err)
	}
	if w, err = g.Watch(t.Context(), Opening{}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Scene(); err != nil {
		t.Errorf("after they are gone: %v", err)
	}
	w.End()
}
