package gitrepo_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
)

// newBed creates a directory with a repository "main", its worktree "tree", a repository "super"
// with the submodule "super/sub", another with its data elsewhere in it, and "plain" without a
// repository.
func newBed(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "main")
	write(t, filepath.Join(dir, "main", "a"), "a")
	git(t, dir, "-C", "main", "add", ".")
	git(t, dir, "-C", "main", "commit", "-qm", "one")
	git(t, dir, "-C", "main", "worktree", "add", "-q", "--detach", "../tree")
	git(t, dir, "init", "-q", "super")
	git(t, dir, "-c", "protocol.file.allow=always", "-C", "super", "submodule", "--quiet", "add", "../main", "sub")
	for _, name := range []string{"apart", "within"} {
		write(t, filepath.Join(dir, name, "x"), "")
	}
	git(t, dir, "init", "-q", "--separate-git-dir=apart/data", "apart/work")
	git(t, dir, "init", "-q", "--separate-git-dir=within/data", "within")
	write(t, filepath.Join(dir, "plain", "x", "y"), "")
	write(t, filepath.Join(dir, "main", "deep", "er", "y"), "")
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES="+dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Find finds repositories created by git itself.
func TestFind(t *testing.T) {
	t.Parallel()
	dir := newBed(t)
	for folder, want := range map[string]string{
		"main": "main main/.git main/.git", "main/deep/er": "main main/.git main/.git", "tree": "tree main/.git/worktrees/tree main/.git",
		"super": "super super/.git super/.git", "super/sub": "super/sub super/.git/modules/sub super/.git/modules/sub",
		"within": "within within/data within/data",
	} {
		r, err := gitrepo.Find(filepath.Join(dir, folder))
		got := strings.ReplaceAll(strings.Join([]string{r.Top, r.GitDir, r.Common}, " "), dir+string(filepath.Separator), "")
		if filepath.ToSlash(got) != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", folder, got, err, want)
		}
	}
	if _, err := gitrepo.At(filepath.Join(dir, "main", "deep")); !errors.Is(err, gitrepo.ErrNone) {
		t.Error(err)
	}
}

// Files that a command may have written into a workspace lead to no other repository.
func TestForged(t *testing.T) {
	t.Parallel()
	dir := newBed(t)
	ws := filepath.Join(dir, "ws")
	write(t, filepath.Join(dir, "made", "gitdir"), ws+"/.git\n")
	write(t, filepath.Join(dir, "made", "commondir"), dir+"/main/.git\n")
	write(t, filepath.Join(dir, "made", "worktrees", "x", "gitdir"), "/elsewhere/.git\n")
	for _, text := range []string{
		"gitdir: " + dir + "/main/.git", "gitdir: ../main/.git", "gitdir: " + dir + "/main/.git/worktrees/tree",
		"gitdir: " + dir + "/made", "gitdir: " + dir + "/made/worktrees/x", "gitdir: " + dir + "/apart/data", "gitdir: " + dir + "/super/.git/modules/sub",
		"gitdir: /", "gitdir: /none", "gitdir:", "", "x", strings.Repeat("x", 1<<20),
	} {
		write(t, filepath.Join(ws, ".git"), text)
		if r, err := gitrepo.Find(ws); err == nil {
			t.Errorf("%.80q: %+v", text, r)
		}
	}
	if err := os.Remove(filepath.Join(ws, ".git")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "main", ".git"), filepath.Join(ws, ".git")); err != nil {
		t.Skip(err)
	}
	if r, err := gitrepo.Find(ws); err == nil {
		t.Errorf("a link: %+v", r)
	}
	// A folder .git is the repository, whatever it names as common.
	write(t, filepath.Join(dir, "main", ".git", "commondir"), dir+"/super/.git\n")
	if r, err := gitrepo.Find(filepath.Join(dir, "main")); err != nil || r.Common != filepath.Join(dir, "main", ".git") {
		t.Errorf("%+v, %v", r, err)
	}
}
