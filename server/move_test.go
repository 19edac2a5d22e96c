package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/folderpath"
)

// If its folder was renamed, opening a session fails and names the command for moving it. After the
// command, it opens.
func TestFolderOfASessionIsRenamed(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	old, now := filepath.Join(parent, "old name"), filepath.Join(parent, "new")
	if err := os.Mkdir(old, 0o755); err != nil {
		t.Fatal(err)
	}
	h, id := &guest{}, store.NewID()
	if err := s.theStore("").Create(t.Context(), store.Session{ID: id, Cwd: old, Title: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, now); err != nil {
		t.Fatal(err)
	}
	want := "hermes-ls sessions move " + folderpath.Shell(old) + " "
	for _, cwd := range []string{now, old, ""} {
		_, loadErr := s.LoadSession(t.Context(), id, Place{Cwd: cwd}, h)
		_, forkErr := s.Fork(t.Context(), id, "", Place{Cwd: cwd}, h)
		to := "NEW"
		if cwd == now {
			to = now
		}
		for what, err := range map[string]error{"load": loadErr, "fork": forkErr} {
			if err == nil || !strings.Contains(err.Error(), want+to) {
				t.Errorf("%s in %q: %v", what, cwd, err)
			}
		}
	}
	if n, _, err := s.MoveSessions(t.Context(), folderpath.Move{Old: old, New: now}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := s.LoadSession(t.Context(), id, Place{Cwd: now + "/"}, h); err != nil {
		t.Error(err)
	}
	if err := os.Symlink(now, filepath.Join(parent, "link")); err != nil {
		t.Fatal(err)
	}
	page, _, err := s.List(t.Context(), filepath.Join(parent, "link"), "")
	if err != nil || len(page) != 1 || page[0].ID != id {
		t.Errorf("list by a link: %v, %v", page, err)
	}
}
