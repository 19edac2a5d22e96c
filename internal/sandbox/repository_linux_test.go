package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/gitguard"
)

// With shared caches, a command can forge a worktree in a cache. A commondir file in it does
// not make another repository of the user writable.
func TestForgedCommondir(t *testing.T) {
	t.Parallel()
	v := newVictim(t, Mechanism{Kind: None}, Off, true)
	v.host("git", "init", "-q", filepath.Join(v.base, "other"))
	forged := "home/.cache/f/worktrees/ws"
	v.write(forged+"/gitdir", filepath.Join(v.ws, ".git"))
	v.write(forged+"/commondir", filepath.Join(v.base, "other/.git"))
	if err := os.RemoveAll(filepath.Join(v.ws, ".git")); err != nil {
		t.Fatal(err)
	}
	v.write("ws/.git", "gitdir: "+filepath.Join(v.base, forged))
	for _, dir := range gitguard.Outside([]string{v.ws}) {
		if !fspath.Under(dir, filepath.Join(v.home, ".cache")) {
			t.Errorf("%s is writable", dir)
		}
	}
}

// A worktree's repository is writable, and so is a submodule's.
func TestOutside(t *testing.T) {
	t.Parallel()
	v := newVictim(t, Mechanism{Kind: None}, Off, true)
	if out := v.user(modules("sub") + `
git commit -q --allow-empty -m x; git worktree add -q ../tree`); strings.Contains(out, "exit status") {
		t.Fatal(out)
	}
	for root, want := range map[string][]string{
		"ws": nil, "tree": {"ws/.git/worktrees/tree", "ws/.git"}, "ws/sub": {"ws/.git/modules/sub"},
	} {
		var got []string
		for _, dir := range gitguard.Outside([]string{filepath.Join(v.base, root)}) {
			got = append(got, strings.TrimPrefix(dir, v.base+"/"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", root, got, want)
		}
	}
}

// A settings file or hook with a second name can be changed under it, so in a new repository the
// user is asked about it. The user's own links are not reviewed.
func TestHardLinks(t *testing.T) {
	t.Parallel()
	m := holding(t)[0]
	v := newVictim(t, m, WorkspaceWrite, true)
	v.host("ln", filepath.Join(v.ws, ".git/config"), filepath.Join(v.out, "config"))
	watch := watching(v.box)
	v.start(`git init -q n; ln n/.git/config a; git init -q o; ln .git/config b; touch h; mkdir -p o/.git/hooks; ln h o/.git/hooks/pre-commit; true`)
	changes, done := watch.Changes()
	var found []string
	for _, c := range changes {
		found = append(found, c.What)
	}
	done()
	watch.End()
	want := []string{
		"the git hook o/.git/hooks/pre-commit, which has another name, by which it can be changed",
		"the git settings in n/.git/config, which have another name, by which they can be changed",
	}
	if !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
}
