package gitguard

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

func TestUnfinished(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := filepath.Join(dir, ".git")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=u", "-c", "user.email=u@example.com"}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	run("init", "-q")
	at := func(later time.Duration) bool {
		t.Helper()
		root, err := safefile.OpenRoot(git)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close() // only read
		return unfinished(root, time.Now().Add(later))
	}
	if !at(0) {
		t.Error("it has no branch")
	}
	run("commit", "-q", "--allow-empty", "-m", "x")
	if at(0) {
		t.Error("it is finished")
	}
	for _, name := range []string{"config.lock", "objects/pack/tmp_pack_1"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(git, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(git, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if !at(0) {
			t.Error(name)
		}
		if at(time.Hour) {
			t.Errorf("%s, which any command can make, counts in an old repository", name)
		}
		if err := os.Remove(filepath.Join(git, name)); err != nil {
			t.Fatal(err)
		}
	}
}
