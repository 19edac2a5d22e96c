package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

func (sh *shell) folder(parts ...string) string {
	sh.t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(path, 0o755); err != nil {
		sh.t.Fatal(err)
	}
	return path
}

func (sh *shell) write(path, text string) {
	sh.t.Helper()
	sh.folder(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		sh.t.Fatal(err)
	}
}

// TestSessionsMove renames a folder with sessions, a subagent, a checkpoint, trust and memory.
func TestSessionsMove(t *testing.T) {
	sh := newShell(t)
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	old, now := filepath.Join(real, "my old shop"), filepath.Join(real, "shop")
	link := filepath.Join(real, "link")
	sh.folder(old, "api")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	sh.has(sh.fail(1, "move", old, old), old, "no sessions")

	id, below, linked, other := store.NewID(), store.NewID(), store.NewID(), store.NewID()
	sh.keep(store.Session{ID: id, Title: "One", Cwd: old})
	sh.keep(store.Session{ID: store.NewID(), Title: "Child", Cwd: old, Parent: id, Origin: "{}"})
	sh.keep(store.Session{ID: below, Title: "Below", Cwd: filepath.Join(old, "api"), Folders: []string{old}})
	sh.keep(store.Session{ID: linked, Title: "Linked", Cwd: filepath.Join(link, "my old shop")})
	sh.keep(store.Session{ID: other, Title: "Other", Cwd: old + "2"})
	sh.write(filepath.Join(sh.home, "checkpoints", "sessions", safefile.NameOf(id), "0199.jsonl"),
		`{"id":"0199","kind":"turn","title":"x","created":"2026-01-01T00:00:00Z","folders":["`+old+`"]}`+"\n"+`{"path":"`+old+`/a.txt","before":{"kind":""},"after":{"kind":"file"}}`+"\n")
	sh.write(filepath.Join(sh.home, "caches", "of-before", "workspace"), old+"\n")
	sh.write(filepath.Join(sh.home, "caches", "of-before", "plain", "kept"), "x")
	sh.write(filepath.Join(sh.home, "sandbox", "of-before", "0-1.lock"), "+")
	sh.write(filepath.Join(sh.home, "sandbox", "of-before", "0-1.json"), `{"roots":["`+old+`"],"items":{"hook\u0000`+old+`/.git/hooks/x\u0000":"mark"}}`)
	tree := filepath.Join(sh.home, "worktrees", "hermes-child-abc")
	sh.folder(tree, "texts")
	sh.write(filepath.Join(tree, "lock"), "")
	sh.write(filepath.Join(tree, "note.json"), `{"task":"child","root":"`+real+`/hermes-child-abc","top":"`+old+`","git_dir":"`+old+`/.git","common_dir":"`+old+`/.git","output":"`+real+`"}`)
	trusted := trust.Open(sh.home)
	if _, err := trusted.Trust(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	sh.has(sh.run("", "list", "--cwd", filepath.Join(link, "my old shop")+"/"), "One", "Linked")
	sh.has(sh.run("", "list", "--cwd", old), "One", "Linked")

	sh.has(sh.fail(1, "move", old, now), now, "is not a folder", "Nothing was moved")
	if err := os.Rename(old, now); err != nil {
		t.Fatal(err)
	}
	sh.has(sh.fail(1, "move", filepath.Join(real, "never"), now), filepath.Join(real, "never"), "no sessions")
	sh.fail(2, "move", old)
	sh.has(sh.run("", "list", "--cwd", filepath.Join(link, "my old shop")), "One", "Linked")
	for _, args := range [][]string{{"rollback", "--session", id}, {"rollback", "1", "--session", id}, {"replay", id}} {
		var out, errOut bytes.Buffer
		if code := execute(t.Context(), args, strings.NewReader(""), &out, &errOut); code != 1 || !strings.Contains(errOut.String(), "hermes-ls sessions move '"+old+"' NEW") {
			t.Errorf("%q: exit %d: %s", args, code, &errOut)
		}
	}
	out := sh.run("", "move", old+"/", now)
	sh.has(out, "4 sessions", "their checkpoints", "its trust", "the caches of its commands", "the work of subagents of a killed server")
	for _, name := range []string{"caches/shop-*/workspace", "sandbox/*/0-1.json", "worktrees/*/note.json"} {
		found, _ := filepath.Glob(filepath.Join(sh.home, name))
		if len(found) != 1 {
			t.Errorf("%s: %v", name, found)
			continue
		}
		if text, err := os.ReadFile(found[0]); err != nil || strings.Contains(string(text), old) || !strings.Contains(string(text), now) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(sh.home, "caches", "shop-*", "plain", "kept")); len(kept) != 1 {
		t.Errorf("caches: %v", kept)
	}
	list := sh.run("", "list", "--cwd", now)
	sh.has(list, "One", "Linked")
	sh.has(sh.run("", "list", "--cwd", filepath.Join(now, "api")), "Below")
	if all := sh.run("", "list"); strings.Contains(all, old+"\n") || !strings.Contains(all, old+"2") {
		t.Error(all)
	}
	if !trusted.Trusted(now) {
		t.Error("the new folder is not trusted")
	}
	record, err := os.ReadFile(filepath.Join(sh.home, "checkpoints", "sessions", safefile.NameOf(id), "0199.jsonl"))
	if err != nil || strings.Contains(string(record), old) || !strings.Contains(string(record), filepath.Join(now, "a.txt")) {
		t.Errorf("%s, %v", record, err)
	}
	if folders, err := trusted.Folders(); err != nil || len(folders) != 1 {
		t.Errorf("trusted: %v, %v", folders, err)
	}
	sh.has(sh.fail(1, "move", old, now), "no sessions")
}
