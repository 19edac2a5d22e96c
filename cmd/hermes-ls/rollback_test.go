package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// TestRollbackInAnyFolder finds the newest session in each of its workspace folders, also below them and through links.
func TestRollbackInAnyFolder(t *testing.T) {
	sh := newShell(t)
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shop, lib, other := sh.folder(real, "shop"), sh.folder(real, "lib"), sh.folder(real, "other")
	sh.folder(lib, "src")
	link := filepath.Join(real, "link")
	if err := os.Symlink(lib, link); err != nil {
		t.Fatal(err)
	}
	for i, x := range []store.Session{
		{Title: "Of lib alone", Cwd: lib},
		{Title: "Of shop and lib", Cwd: shop, Folders: []string{lib}},
		{Title: "Of other", Cwd: other},
	} {
		x.ID = store.NewID()
		x.UpdatedAt = time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		sh.keep(x)
		folders := `"` + strings.Join(append([]string{x.Cwd}, x.Folders...), `","`) + `"`
		file := filepath.Join(x.Cwd, "a.txt")
		sh.write(filepath.Join(sh.home, "checkpoints", "sessions", safefile.NameOf(x.ID), "0199.jsonl"),
			`{"id":"0199","kind":"turn","title":"`+x.Title+`","created":"2026-01-01T00:00:00Z","folders":[`+folders+`]}`+"\n"+
				`{"path":"`+file+`","before":{"kind":""},"after":{"kind":"file"}}`+"\n")
	}
	// A deleted session with remaining checkpoints is left out.
	sh.write(filepath.Join(sh.home, "checkpoints", "sessions", "gone", "0199.jsonl"), `{"id":"0199","kind":"turn","folders":["`+lib+`"]}`+"\n")
	for dir, want := range map[string]string{
		shop: "Of shop and lib", lib: "Of shop and lib", filepath.Join(lib, "src"): "Of shop and lib", link: "Of shop and lib", other: "Of other",
	} {
		t.Chdir(dir)
		var out, errOut bytes.Buffer
		if code := execute(t.Context(), []string{"rollback"}, strings.NewReader(""), &out, &errOut); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d: %s%s", dir, code, &out, &errOut)
		}
	}
}
