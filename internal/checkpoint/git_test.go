package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// gitState returns a sum of all files in .git, by name.
func gitState(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	err := filepath.WalkDir(filepath.Join(dir, ".git"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		sums[path] = hex.EncodeToString(sum[:])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// Files must be older than the index: git does not trust the stamps of newer files. Git misses a
// second change of the stamps within a second, so the second time is another day.
const (
	aged  = `git ls-files -z | xargs -0 touch -d '1 minute ago'`
	older = `git ls-files -z | xargs -0 touch -d '1 day ago'`
)

const repository = `git init -q -b main .; git add .; git commit -qm one; echo two >> a.txt; git commit -qam two; git tag v1
echo stashed > b.txt; git stash -q; echo staged > c.txt; git add c.txt; echo modified >> a.txt; echo untracked > u.txt; ` + aged + `; git status >/dev/null`

func newRepository(t *testing.T) *bench {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed: ", err)
	}
	b := newBench(t, map[string]string{"a.txt": "one\n", "b.txt": "two\n", "c.txt": "three\n", "d/e.txt": "four\n"})
	b.sh(repository)
	pastTick()
	return b
}

func TestRepositoryIsNotTouched(t *testing.T) {
	t.Parallel()
	b := newRepository(t)
	git, files := gitState(t, b.dir), b.tree()
	if len(git) < 20 {
		t.Fatalf("only %d files in .git", len(git))
	}
	b.turn("Turn", func() { b.shell("rm -r *; echo x > a.txt"); b.edit("a.txt", "y") })
	_, kept := b.restore("Turn")
	same(t, "kept", kept, nil)
	if got := b.tree(); got != files {
		t.Errorf("restored:\n%s\n\nwant:\n%s", got, files)
	}
	after := gitState(t, b.dir)
	if len(after) != len(git) {
		t.Errorf("%d files in .git, there were %d", len(after), len(git))
	}
	for path, sum := range git {
		if after[path] != sum {
			t.Errorf("%s has changed", path)
		}
	}
}

// Files clean in git are not read; files with another content in git are.
func TestWhatGitHas(t *testing.T) {
	t.Parallel()
	b := newRepository(t)
	check := func(want string) {
		t.Helper()
		tree, err := b.store.scan(t.Context(), nil, b.Files, nil, plenty)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, path := range tree.unsavedPaths(plenty) {
			names = append(names, b.Files.Name(path))
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("to be read: %s; want %s", got, want)
		}
	}
	check("a.txt u.txt")
	b.sh(`git update-index --index-version 4; git status >/dev/null`)
	check("a.txt u.txt")
	b.sh(`printf 'x\r\ny\r\n' > crlf.txt; echo '*.txt text=auto' > .gitattributes; git add .; git -c core.autocrlf=true commit -qm three; ` + older + `; touch -d '1 hour ago' crlf.txt; git add crlf.txt; git status >/dev/null`)
	check("crlf.txt")
	b.sh(`git update-index --split-index`)
	tree, err := b.store.scan(t.Context(), nil, b.Files, nil, plenty)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(tree.unsavedPaths(plenty)); n != 7 {
		t.Errorf("%d files are to be read where the index cannot be", n)
	}
}

// A turn may destroy the repository.
func TestRepositoryIsGone(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, script string }{
		{"removed", "rm -rf .git *"},
		{"gc", "git stash drop -q; git reset -q --hard v1; git commit -q --amend -m other; git reflog expire --expire=all --all; git tag -d v1; git gc -q --prune=now; rm -rf d *.txt"},
		{"unstaged", "git reset -q; git gc -q --prune=now; rm *.txt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newRepository(t)
			before := b.tree()
			b.turn("Turn", func() { b.shell(tc.script) })
			_, kept := b.restore("Turn")
			same(t, "kept", kept, nil)
			if got := b.tree(); got != before {
				t.Errorf("restored:\n%s\n\nwant:\n%s", got, before)
			}
			left, _ := filepath.Glob(filepath.Join(b.store.dir, "git", "*", "objects", "pack", "*.pack"))
			if len(left) > 0 {
				t.Errorf("packs are still held: %v", left)
			}
		})
	}
}

// A turn's checkouts and commits belong to git. The files are restored nevertheless.
func TestCheckout(t *testing.T) {
	t.Parallel()
	b := newRepository(t)
	b.sh("git commit -qam wip; git checkout -q -b other v1; " + older + "; git status")
	pastTick()
	before := b.tree()
	b.turn("Turn", func() {
		b.shell("git checkout -q main; git mv d/e.txt moved.txt; git commit -qm moved; git checkout -q -b third")
	})
	_, kept := b.restore("Turn")
	same(t, "kept", kept, nil)
	if got := b.tree(); got != before {
		t.Errorf("restored:\n%s\n\nwant:\n%s", got, before)
	}
}

// Worktrees and submodules have their .git folder elsewhere.
func TestWorktreeAndSubmodule(t *testing.T) {
	t.Parallel()
	b := newRepository(t)
	b.sh("git worktree add -q ../tree-$$ v1; mv ../tree-$$ tree 2>/dev/null && git worktree repair tree; git init -q sub; cd sub; echo s > s.txt; git add .; git commit -qm s; " + aged + "; git status >/dev/null; cd ../tree; " + older + "; git status >/dev/null")
	pastTick()
	before := b.tree()
	tree, err := b.store.scan(t.Context(), nil, b.Files, nil, plenty)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub/s.txt", "tree/b.txt", "d/e.txt"} {
		if tree.entries[b.path(name)].repo == 0 {
			t.Errorf("%s is not taken from git", name)
		}
	}
	b.turn("Turn", func() { b.shell("rm sub/s.txt tree/*.txt d/e.txt") })
	_, kept := b.restore("Turn")
	same(t, "kept", kept, nil)
	if got := b.tree(); got != before {
		t.Errorf("restored:\n%s\n\nwant:\n%s", got, before)
	}
}

// git apply with the diff from a checkpoint turns its state into the current state.
func TestDiffApplies(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "one\ntwo\n", "b.sh": "#!/bin/sh\n", "gone.txt": "gone\n", "to link": "text\n", "empty": ""})
	b.sh("ln -s a.txt link")
	work := t.TempDir()
	if err := exec.Command("cp", "-a", b.dir+"/.", work).Run(); err != nil {
		t.Fatal(err)
	}
	b.turn("Turn", func() {
		b.shell("echo three >> a.txt; chmod +x b.sh; rm gone.txt empty 'to link'; ln -s b.sh 'to link'; ln -sf b.sh link; mkdir n; printf x > n/new; : > made")
	})
	text, err := b.Diff(t.Context(), b.list()[0].ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Stdin = work, strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, text)
	}
	if got, want := treeOf(t, work), b.tree(); got != want {
		t.Errorf("applied:\n%s\n\nwant:\n%s\n%s", got, want, text)
	}
}

// TestEarlierTexts: commands of this or an earlier turn change files, in git or not. The keeper
// knows the earlier texts and the changed files.
func TestEarlierTexts(t *testing.T) {
	t.Parallel()
	b := newRepository(t)
	b.write("w.txt", "1\r\n2\r\n")
	check := func(when string) {
		t.Helper()
		for name, text := range map[string]string{"b.txt": "two\n", "u.txt": "untracked\n", "w.txt": "1\n2\n"} {
			if b.Earlier(b.path(name), []byte(text), []byte("x\n")) != workspace.EarlierSame {
				t.Errorf("%s: %s did not have %q", when, name, text)
			}
			if b.Earlier(b.path(name), []byte("typed\n"+text), []byte("x\n")) != workspace.EarlierOther {
				t.Errorf("%s: %s had a text that was never on disk, or no command has changed it", when, name)
			}
		}
	}
	b.turn("Turn", func() {
		if got := b.Earlier(b.path("b.txt"), []byte("typed\n"), []byte("two\n")); got != workspace.EarlierUnknown {
			t.Errorf("before a command: %v", got)
		}
		b.shell("for f in b u w; do echo x > $f.txt; done")
		check("in the turn")
	})
	b.turn("Next", func() { b.shell("echo y > y.txt") })
	check("after the next turn")
}
