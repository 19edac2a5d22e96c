//go:build linux

package shell

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Work of every day on a fresh clone, without a question and without a failure.
func TestOrdinaryWork(t *testing.T) {
	t.Parallel()
	env, dir, who := newSandboxed(t)
	host := func(script string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	host(`rm -rf .git .vscode
mkdir remotes
mkdir -p package/.vscode package/.git/hooks && cd package && echo x > AGENTS.md && echo {} > .vscode/tasks.json && echo x > .git/hooks/x && printf '{"name":"dep","version":"1.0.0","scripts":{"prepare":"true"}}' > package.json && cd .. && tar czf remotes/dep.tgz --exclude=.git package && rm -rf package
git init -q -b main remotes/lib && git -C remotes/lib commit -q --allow-empty -m lib
git init -q -b main remotes/origin && cd remotes/origin && git config receive.denyCurrentBranch ignore
echo one > AGENTS.md && echo 'fund=false' > .npmrc && echo a > a.txt && printf 'all:\n\tmkdir -p build; echo x > build/x; git status\n' > Makefile && mkdir pkg && echo b > pkg/b.txt && git add . && git commit -qm one
git -c protocol.file.allow=always submodule --quiet add ../lib sub && git commit -qm sub
git checkout -qb feature && echo two > AGENTS.md && echo 'audit=false' > .npmrc && echo f > f.txt && git add . && git commit -qm two && git checkout -q main
cd "$OLDPWD" && git clone -q remotes/origin clone && mv clone/.git clone/* clone/.npmrc clone/.gitmodules . && rmdir clone`)
	for _, command := range []string{
		`git config user.email a@b && git config user.name n`,
		`echo c > c.txt; git add c.txt; git commit -qm three`,
		`git checkout -q -b x origin/feature`,
		`git switch -q main`,
		`git switch -q x; git switch -q -`,
		`GIT_ALLOW_PROTOCOL=file git submodule update --init`,
		`cd sub && git checkout -q -b work && git commit -q --allow-empty -m sub; cd ..`,
		`make -s`,
		`npm install --cache .npmcache --offline --no-audit --no-fund --loglevel=error ./remotes/dep.tgz`,
		`echo d >> a.txt; git stash; git stash pop; git commit -qam four`,
		`git merge -q -m merged x`,
		`git rebase -q origin/main`,
		`git switch -q main; git cherry-pick x~0 || git cherry-pick --abort`,
		`git tag v1`,
		`git fetch -q origin; git fetch -q remotes/origin main`,
		`git pull -q --no-rebase --no-edit origin feature`,
		`git worktree add -q wt -b tree`,
		`cd wt && echo w > w.txt && git add w.txt && git commit -qm tree; cd ..`,
		`git -C wt log --oneline -1`,
		`git worktree remove wt`,
		`git worktree add -q wt; git worktree list; git worktree remove wt; git worktree prune`,
		`git clone -q remotes/origin copied`,
		`cd copied && git config user.email a@b && git config user.name n && echo x > x && git add x && git commit -qm x; cd ..`,
		`git init -q new && cd new && git config user.email a@b && git config user.name n && touch y && git add y && git commit -qm y; cd ..`,
		`git remote add other remotes/lib && git remote -v && git fetch -q other`,
		`git branch -q -u origin/feature main`,
		`git gc -q`,
		`git status; git log --oneline --all --graph`,
	} {
		n := len(who.Asked)
		in, _ := json.Marshal(map[string]string{"command": command})
		out, result := runTerminal(t.Context(), t, env, string(in))
		if asked := len(who.Asked) - n; asked > 0 {
			t.Errorf("%s: asked %q", command, who.Asked[n].Title+": "+who.Asked[n].Reason)
		}
		if result.IsError || out.ExitCode != 0 || strings.Contains(out.Note, "removed") || strings.Contains(out.Output, "busy") || strings.Contains(out.Output, "Read-only") {
			t.Errorf("%s: %d %s %s", command, out.ExitCode, out.Output, out.Note)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "wt")); err == nil {
		t.Error("the worktree is left")
	}
}
