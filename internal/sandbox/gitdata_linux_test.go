package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// gitPayload is the payload of attacks. When the user's git runs it, it writes a file beside the
// workspace, where no command in the sandbox can write.
const gitPayload = `
printf '#!/bin/sh\ntouch %s/PWNED\n' "$BASE" > m.sh; chmod +x m.sh
hook() { mkdir -p "$1" && cp m.sh "$1/pre-commit" && cp m.sh "$1/post-checkout"; }
monitor() { git config --file "$1" core.fsmonitor "$PWD/m.sh" || printf '[core]\nfsmonitor = %s/m.sh\n' "$PWD" >> "$1"; }
`

// gitAttacks make the user's git run something. The set-up is the user's, before.
var gitAttacks = []struct {
	id     string
	setup  string
	script string
	user   string // the user's next command
	// review is set if no mount can hold it: it is held by the review after the command.
	review bool
	links  bool // bubblewrap cannot hold links: as above
}{
	{id: "hook", script: `hook .git/hooks`},
	{id: "hook without hooks", setup: `rm -rf .git/hooks`, script: `hook .git/hooks`},
	{id: "fsmonitor", script: `monitor .git/config`},
	{id: "repository copied", script: `mv .git g; cp -r g .git; cp -r .git g; rm -rf .git; mv g .git; hook .git/hooks; monitor .git/config`},
	{id: "watch-301-files", setup: `mkdir -p .vscode/s; for i in $(seq 305); do echo x > .vscode/s/$i; done`, script: `monitor .git/config; hook .git/hooks`},
	{id: "watch-301-hooks", setup: `mkdir -p .vscode/s; for i in $(seq 305); do echo x > .vscode/s/$i; done; rm -rf .git/hooks`, script: `hook .git/hooks`},
	{id: "nested-moved", setup: `git init -q sub`, script: `mv sub old; cp -r old sub; hook sub/.git/hooks; monitor sub/.git/config`, user: `cd sub`},
	{id: "nested-deep", setup: `git init -q a/b/c/d`, script: `mv a o; cp -r o a; hook a/b/c/d/.git/hooks; monitor a/b/c/d/.git/config`, user: `cd a/b/c/d`},
	{id: "many-folders", setup: `for i in $(seq 210); do mkdir f$i; done; git init -q zz`, script: `hook zz/.git/hooks`, user: `cd zz`},
	{id: "submodule-moved", setup: modules("sub"), script: `mv .git/modules .git/m; cp -r .git/m .git/modules; hook .git/modules/sub/hooks`, user: `cd sub`},
	{id: "submodule-deep", setup: modules("third_party/github.com/x/lib"), script: `hook .git/modules/third_party/github.com/x/lib/hooks`, user: `cd third_party/github.com/x/lib`},
	{id: "submodule-deep-config", setup: modules("third_party/github.com/x/lib"), script: `monitor .git/modules/third_party/github.com/x/lib/config`, user: `cd third_party/github.com/x/lib`},
	{id: "submodule turned", setup: modules("sub"), script: `git init -q e; monitor e/.git/config; echo "gitdir: $PWD/e/.git" > sub/.git; rm -f sub/.git; echo "gitdir: $PWD/e/.git" > sub/.git`, user: `cd sub`},
	{id: "hooks-link", setup: `mkdir githooks; rm -rf .git/hooks; ln -s ../githooks .git/hooks`, script: `hook githooks; rm -f .git/hooks; hook .git/hooks`, links: true},
	{id: "hooks-link moved", setup: `mkdir githooks; rm -rf .git/hooks; ln -s ../githooks .git/hooks`, script: `mv githooks g; hook githooks`},
	{id: "hooks-path-set", setup: `mkdir .husky; git config core.hooksPath .husky`, script: `hook .husky; mv .husky h; hook .husky`},
	{id: "hooks-path-set, missing", setup: `git config core.hooksPath tools/hooks`, script: `hook tools/hooks`, review: true},
	{id: "hook-link-target", setup: `mkdir scripts; printf '#!/bin/sh\n' > scripts/p; chmod +x scripts/p; ln -s ../../scripts/p .git/hooks/pre-commit`, script: `cp m.sh scripts/p; mv scripts s; mkdir scripts; cp m.sh scripts/p`},
	{id: "hook-link-target, by links", setup: `mkdir scripts; printf '#!/bin/sh\n' > scripts/p; chmod +x scripts/p; ln -s scripts l; ln -s ../../l/p .git/hooks/pre-commit`, script: `rm l; mkdir l; cp m.sh l/p`, links: true},
	{id: "include-there", setup: `touch .gitconfig; git config include.path ../.gitconfig`, script: `monitor .gitconfig; rm -f .gitconfig; monitor .gitconfig`},
	{id: "worktree-config", setup: `git config extensions.worktreeConfig true; git commit -q --allow-empty -m x; git worktree add -q ../tree; git -C ../tree config --worktree user.name n`, script: `monitor .git/worktrees/tree/config.worktree`, user: `cd ../tree`},
	{id: "worktree-commondir", setup: `git commit -q --allow-empty -m x; git worktree add -q ../tree`, script: `cp -r .git evil; monitor evil/config; echo $PWD/evil > .git/worktrees/tree/commondir; rm -f .git/worktrees/tree/commondir; echo $PWD/evil > .git/worktrees/tree/commondir`, user: `cd ../tree`},
	{id: "worktrees moved", setup: `git commit -q --allow-empty -m x; git worktree add -q ../tree`, script: `cp -r .git evil; monitor evil/config; mv .git/worktrees .git/w; cp -r .git/w .git/worktrees; echo $PWD/evil > .git/worktrees/tree/commondir`, user: `cd ../tree`},
	{id: "commondir made", script: `cp -r .git evil; monitor evil/config; echo ../evil > .git/commondir`, review: true},
	{id: "linked .git", setup: `mkdir l; git init -q real; ln -s ../real/.git l/.git`, script: `git init -q e; monitor e/.git/config; rm -f l/.git; ln -s ../e/.git l/.git`, user: `cd l`, links: true},
	{id: "new repository", script: `git init -q n; hook n/.git/hooks; monitor n/.git/config`, user: `cd n`, review: true},
	{id: "new repository, deep", script: `mkdir -p node_modules/a/b; git init -q node_modules/a/b/n; hook node_modules/a/b/n/.git/hooks; monitor node_modules/a/b/n/.git/config`, user: `cd node_modules/a/b/n`, review: true},
	{id: "new repository, bare", script: `git init -q --bare n; monitor n/config`, user: `git --work-tree=. --git-dir=n status`, review: true},
	{id: "new repository, hooksPath", script: `git init -q n; hook n/h; git -C n config core.hooksPath h`, user: `cd n`, review: true},
	{id: "new repository, alias", script: `git init -q n; git -C n config alias.status "grep --open-files-in-pager=$PWD/m.sh x"; git -C n config alias.st '!'$PWD/m.sh; git -C n config alias.s2 "rebase --exe=$PWD/m.sh x"`, user: `cd n; git st; git s2`, review: true},
	{id: "undo-config-lock", script: `git init -q n; monitor n/.git/config; touch n/.git/config.lock`, user: `cd n`, review: true},
	{id: "undo-config-lock folder", script: `git init -q n; monitor n/.git/config; mkdir -p n/.git/config.lock/x`, user: `cd n`, review: true},
	{id: "undo-git-ro", script: `git init -q n; monitor n/.git/config; chmod 444 n/.git/config; chmod 555 n/.git`, user: `cd n`, review: true},
	{id: "undo-hooks-ro", script: `git init -q n; hook n/.git/hooks; chmod 555 n/.git/hooks`, user: `cd n`, review: true},
	{id: "commondir, no HEAD", script: evilCommon + `monitor evil/config; hook evil/hooks; echo ../evil > .git/commondir`, review: true},
	{id: "commondir, no HEAD, new repository", script: `git init -q n; ` + evilCommon + `monitor evil/config; hook evil/hooks; echo ../../evil > n/.git/commondir`, user: `cd n`, review: true},
	{id: "commondir, a link", script: evilCommon + `monitor evil/config; hook evil/hooks; echo ../evil > evil/cd; ln -s ../evil/cd .git/commondir`, review: true},
	{id: "commondir, lexical", script: evilCommon + `monitor evil/config; hook evil/hooks; mkdir -p d/e; ln -s d/e l; mv evil d/evil; echo ../l/../evil > .git/commondir; cp -r .git evil`, review: true},
	{id: "commondir, a repository itself", script: evilCommon + `git config --file evil/config alias.st '!'$PWD/m.sh; mkdir n; cp .git/HEAD n; echo ../evil > n/commondir`, user: `cd n; git st`, review: true},
	{id: "commondir, spaces", script: evilCommon + `monitor evil/config; hook evil/hooks; cp -r .git "evil "; mv evil x; mv "evil " evil; mv x "evil "; echo "../evil " > .git/commondir`, review: true},
	{id: "a worktree without commondir", script: evilCommon + `monitor evil/config; hook evil/hooks; cp .git/HEAD evil; mkdir worktrees sub; mv evil worktrees/n; echo "gitdir: ../worktrees/n" > sub/.git`, user: `cd sub`, review: true},
	{id: "gitdir, spaces", script: evilCommon + `monitor evil/config; hook evil/hooks; mkdir sub x 'x '; cp .git/HEAD 'x /'; echo ../evil > 'x /commondir'; printf 'gitdir: ../x \n' > sub/.git`, user: `cd sub`, review: true},
	{id: "gitdir, NUL", script: evilCommon + `monitor evil/config; hook evil/hooks; mkdir sub x; cp .git/HEAD x; git config --file evil/config core.worktree "$PWD/sub"; echo ../evil > x/commondir; printf 'gitdir: ../x\000zzz' > sub/.git`, user: `cd sub`, review: true},
	{id: "a link to a gitfile", script: evilCommon + `monitor evil/config; hook evil/hooks; mkdir sub mid; cp .git/HEAD mid; echo ../evil > mid/commondir; echo "gitdir: ../mid" > mid/gf; ln -s ../mid/gf sub/.git`, user: `cd sub`, review: true},
	{id: "hooksPath for all repositories", setup: `mkdir .githooks; git config --global core.hooksPath .githooks; cp ../.gitconfig ../home`, script: `hook .githooks; mv .githooks g; hook .githooks`},
	{id: "hooksPath in XDG_CONFIG_HOME", setup: `mkdir -p .githooks ../xdg/git; git config --file ../xdg/git/config core.hooksPath .githooks`, script: `hook .githooks; mv .githooks g; hook .githooks`, user: `export XDG_CONFIG_HOME=$BASE/xdg`},
	{id: "hooksPath in GIT_CONFIG_GLOBAL", setup: `mkdir .githooks; git config --file ../global core.hooksPath .githooks`, script: `hook .githooks; mv .githooks g; hook .githooks`, user: `export GIT_CONFIG_GLOBAL=$BASE/global`},
	{id: "hooksPath in the home", setup: `mkdir hk; ln -s ../ws ../home/ws; git config core.hooksPath '~/ws/hk'`, script: `hook hk; mv hk g; hook hk`},
	{id: "a program of the settings", setup: `mkdir bin; printf '#!/bin/sh\n' > bin/fs; chmod +x bin/fs; git config core.fsmonitor bin/fs`, script: `cp m.sh bin/fs; mv bin b; mkdir bin; cp m.sh bin/fs`},
	{id: "unlisted root", setup: `chmod 311 .`, script: `printf '[core]\n fsmonitor = %s/m.sh\n' "$PWD" >> .git/config; hook .git/hooks`},
	{id: "unlisted folder", script: `git init -q n/n; monitor n/n/.git/config; hook n/n/.git/hooks; chmod 311 n n/n n/n/.git n/n/.git/hooks`, user: `cd n/n`, review: true},
	{id: "unlisted modules", script: `git init -q n; git init -q m; mkdir -p n/.git/modules/a n/m; mv m/.git n/.git/modules/a/b; monitor n/.git/modules/a/b/config; hook n/.git/modules/a/b/hooks; echo "gitdir: ../.git/modules/a/b" > n/m/.git; chmod 311 n/.git/modules n/.git/modules/a`, user: `cd n/m`, review: true},
	{id: "settings by a link", script: `git init -q n; mv n/.git/config cfg; ln -s ../../cfg n/.git/config; printf '[core]\n fsmonitor = %s/m.sh\n' "$PWD" >> cfg`, user: `cd n`, review: true},
	{id: "rebase todo", setup: `echo a > f; git add f; git commit -qm a; echo b > f; git commit -qam b; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1`, script: `echo "exec touch $BASE/PWNED" >> .git/rebase-merge/git-rebase-todo`, user: `git rebase --continue`, review: true},
	{id: "rebase todo, short", setup: `echo a > f; git add f; git commit -qm a; echo b > f; git commit -qam b; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1`, script: `printf ' x\ttouch %s/PWNED\n' $BASE >> .git/rebase-merge/git-rebase-todo`, user: `git rebase --continue`, review: true},
	{id: "pointer out", script: `mkdir sub; echo "gitdir: $BASE/away" > sub/.git`, user: away + `cd sub`, review: true},
	{id: "pointer out, later", script: `mkdir sub; ln -s $BASE/away l; echo "gitdir: ../l" > sub/.git`, user: away + `cd sub`, review: true},
	{id: "link out", script: `mkdir sub; ln -s $BASE/away sub/.git`, user: away + `cd sub`, review: true},
	{id: "hooks out", script: `git init -q sub; rm -rf sub/.git/hooks; ln -s $BASE/away/hooks sub/.git/hooks`, user: `mkdir -p $BASE/away/hooks; cp m.sh $BASE/away/hooks/pre-commit; cd sub`, review: true},
	{id: "hooksPath out", setup: `git config core.hooksPath .husky/_`, script: `ln -s $BASE/away .husky`, user: `mkdir -p $BASE/away/_; cp m.sh $BASE/away/_/pre-commit`, review: true},
	{id: "include out", setup: `git config include.path ../.gitconfig`, script: `ln -s $BASE/away .gitconfig`, user: `git config --file $BASE/away core.fsmonitor $PWD/m.sh`, review: true},
	{id: "program out", setup: `git config core.fsmonitor tools/lint`, script: `mkdir tools; ln -s $BASE/away tools/lint`, user: `cp m.sh $BASE/away`, review: true},
	{id: "modules out", setup: modules("sub") + `; git commit -qm x; git submodule --quiet deinit -f sub; rm -rf .git/modules`, script: `ln -s $BASE/mods .git/modules`, user: `mkdir $BASE/mods; ` + awaySub, review: true},
	{id: "a module out", setup: modules("sub") + `; git commit -qm x; git submodule --quiet deinit -f sub; rm -rf .git/modules`, script: `mkdir .git/modules; ln -s $BASE/mods/sub .git/modules/sub`, user: `mkdir $BASE/mods; ` + awaySub, review: true},
	{id: "a module without its folder", setup: modules("sub") + `; git commit -qm x; git submodule --quiet deinit -f sub; rm -rf .git/modules`, script: `git init -q --bare x; mkdir .git/modules; mv x .git/modules/sub; monitor .git/modules/sub/config; git config -f .git/modules/sub/config core.bare false; git config -f .git/modules/sub/config core.worktree $PWD/sub`, user: `git submodule --quiet update --init; cd sub`, review: true},
	{id: "a module without its folder, held", setup: modules("sub") + `; git commit -qm x; git submodule --quiet deinit -f sub`, script: `monitor .git/modules/sub/config; hook .git/modules/sub/hooks`, user: `git submodule --quiet update --init; cd sub`},
	{id: "a module elsewhere", setup: modules("sub") + `; git commit -qm x; git submodule --quiet deinit -f sub; rm -rf .git/modules`, script: `git init -q --bare x; mkdir -p .git/x .git/modules; mv x .git/x/sub; monitor .git/x/sub/config; git config -f .git/x/sub/config core.bare false; git config -f .git/x/sub/config core.worktree $PWD/sub; ln -s ../x/sub .git/modules/sub`, user: `git submodule --quiet update --init; cd sub`, review: true},
	{id: "rebase by a link", setup: `git commit -q --allow-empty -m x`, script: `mkdir rm; cd rm; git symbolic-ref HEAD > head-name; git rev-parse HEAD > onto; git rev-parse HEAD > orig-head; : > interactive; : > done; echo "exec touch $BASE/PWNED" > git-rebase-todo; echo 1 > end; echo 0 > msgnum; ln -s ../rm ../.git/rebase-merge`, user: `git rebase --continue`, review: true},
	{id: "rebase strategy", setup: rebasing, script: `mkdir git-merge-x; cp m.sh git-merge-x/e; echo x/e > .git/rebase-merge/strategy`, user: `git rebase --continue`, review: true},
	{id: "cherry-pick strategy", setup: picking, script: `mkdir git-merge-x; cp m.sh git-merge-x/e; echo r > f; git add f; git config -f .git/sequencer/opts options.strategy x/e`, user: `GIT_EDITOR=true git cherry-pick --continue`, review: true},
	{id: "a program with a space", setup: `mkdir 'my bin'; printf '#!/bin/sh\n' > 'my bin/fs'; chmod +x 'my bin/fs'; git config core.fsmonitor '"my bin/fs" -x'`, script: `cp m.sh 'my bin/fs'`},
	{id: "a program in a list", setup: `mkdir bin; printf '#!/bin/sh\n' > bin/fs; chmod +x bin/fs; git config core.fsmonitor 'a=1;bin/fs;false'`, script: `cp m.sh bin/fs`},
	{id: "a program at the top", setup: `mkdir bin; printf '#!/bin/sh\n' > bin/fs; chmod +x bin/fs; git config core.fsmonitor '$(git rev-parse --show-toplevel)/bin/fs'`, script: `cp m.sh bin/fs`},
	{id: "many settings", script: `git init -q n; for i in 1 2 3; do git config --file n/.git/config --add core.sshCommand $PWD/m.sh; done; git config --file n/.git/config --add core.fsmonitor $PWD/m.sh; git config --file n/.git/config --add core.fsmonitor false;  git config --file n/.git/config --add core.fsmonitor $PWD/m.sh`, user: `cd n`, review: true},
}

// evilCommon makes a folder that git accepts as a repository's common directory. Only its settings
// and hooks come from the command.
const evilCommon = `mkdir evil; cp -r .git/objects .git/refs evil/; printf '[core]\n repositoryformatversion = 0\n bare = false\n' > evil/config; `

// away makes a repository outside of the workspace, as a command could in its /tmp or caches.
// awaySub makes the repository of the submodule sub.
const (
	away    = `git init -q --bare $BASE/away; git config --file $BASE/away/config core.bare false; git config --file $BASE/away/config core.fsmonitor $PWD/m.sh; `
	awaySub = `git init -q --bare $BASE/mods/sub; for s in "core.bare false" "core.worktree $PWD/sub" "core.fsmonitor $PWD/m.sh"; do git config --file $BASE/mods/sub/config $s; done; git submodule --quiet update --init; cd sub`
)

// rebasing and picking stop in the middle of a rebase, or of a cherry-pick.
const (
	twoBranches = `echo a > f; git add f; git commit -qm a; git checkout -q -b t; echo b > f; git add f; git commit -qm b; echo c > h; git add h; git commit -qm c; git checkout -q -; echo z > f; git add f; git commit -qm z; `
	rebasing    = twoBranches + `git checkout -q t; GIT_SEQUENCE_EDITOR='sed -i 1s/pick.*/break/' git rebase -q -i -`
	picking     = twoBranches + `git cherry-pick t~1 t >/dev/null 2>&1 || true`
)

func modules(path string) string {
	return `git init -q ../lib; git -C ../lib -c user.name=n -c user.email=e commit -q --allow-empty -m x
git -c protocol.file.allow=always submodule --quiet add "$BASE/lib" ` + path
}

// user runs a command of the user in the workspace, outside of every sandbox.
func (v *victim) user(script string) string {
	v.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = v.ws
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + v.base, "BASE=" + v.base, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e",
		"GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e", "GIT_PAGER=cat",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

const types = "\ngit status; git add -A; git commit -qm x --allow-empty; git checkout -qb other; git fetch -q; git log -1 -p; true"

// An attack must work without a sandbox; else it would test nothing.
func TestGitAttacksWork(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, a := range gitAttacks {
		t.Run(a.id, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, Mechanism{Kind: None}, Off, true)
			v.user(a.setup)
			out := v.start(gitPayload + a.script)
			typed := v.user(a.user + types)
			if v.lacks("PWNED") {
				t.Errorf("it did not run:\n%s\n%s", out, typed)
			}
		})
	}
}

func TestGitData(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, m := range holding(t) {
		for _, a := range gitAttacks {
			t.Run(m.letter(WorkspaceWrite)+"/"+a.id, func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, m, WorkspaceWrite, true)
				if out := v.user(a.setup); strings.Contains(out, "exit status") {
					t.Fatal(out)
				}
				v.run("true") // the second command of a session
				run := v.start
				if a.review || a.links && m.Kind == Bubblewrap {
					run = v.run
				}
				out := run(gitPayload + a.script)
				typed := v.user(a.user + types)
				if !v.lacks("PWNED") {
					t.Errorf("it ran:\n%s\n%s", out, typed)
				}
			})
		}
	}
}

// Files run automatically by editors, shells and agents do not change.
func TestSettingsPlaces(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, a := range []struct {
		id, setup, script string
		has               map[string]string // text of files; empty: there is none
		links             bool
	}{
		{id: "vscode-link", setup: `mkdir conf; mv .vscode/* conf; rmdir .vscode; ln -s conf .vscode`, script: `rm .vscode; mkdir .vscode; echo x > .vscode/tasks.json; echo x > conf/tasks.json; mv conf c; mkdir conf; echo x > conf/tasks.json`, has: map[string]string{".vscode/tasks.json": "", ".vscode/settings.json": "{}"}, links: true},
		{id: "vscode-link, two deep", setup: `mkdir -p a/b; mv .vscode/* a/b; rmdir .vscode; ln -s a/b .vscode`, script: `mv a x; mkdir -p a/b; echo x > a/b/tasks.json`, has: map[string]string{".vscode/tasks.json": "", ".vscode/settings.json": "{}"}},
		{id: "own-moved", setup: `mkdir .hermes; echo old > .hermes/config.yaml`, script: `mv .hermes h; mkdir .hermes; echo x > .hermes/config.yaml`, has: map[string]string{".hermes/config.yaml": "old"}},
		{id: "own-made", script: `mkdir .hermes; echo x > .hermes/config.yaml`, has: map[string]string{".hermes/config.yaml": ""}},
		{id: "undo-vscode-ro", setup: `rm -rf .vscode`, script: `mkdir -p .vscode/a; echo x > .vscode/tasks.json; chmod 555 .vscode .vscode/a`, has: map[string]string{".vscode": ""}},
		{id: "protected-files", script: `for f in AGENTS.md CLAUDE.md x.code-workspace .gitmodules sub/.envrc sub/AGENTS.md sub/.vscode/tasks.json .mcp.json .claude/settings.json .zed/x .npmrc .cargo/config.toml .github/copilot-instructions.md; do mkdir -p $(dirname $f); echo x > $f; done`,
			has: map[string]string{"AGENTS.md": "", "CLAUDE.md": "", "x.code-workspace": "", ".gitmodules": "", "sub/.envrc": "", "sub/AGENTS.md": "", "sub/.vscode": "", ".mcp.json": "", ".claude": "", ".zed": "", ".npmrc": "", ".cargo/config.toml": "", ".github/copilot-instructions.md": ""}},
		{id: "loaded next time", script: `for f in .agents/skills/a/SKILL.md .hermes/skills/a/SKILL.md .hermes/agents/a.md sub/.hermes/commands/a.md .github/hooks/a.json .github/agents/a.md .pi/x .augment/rules/a.md CLAUDE.local.md .husky/pre-commit eslint.config.js a.prompt.md .hermes/chats/a.md; do mkdir -p $(dirname $f); echo x > $f; done`,
			has: map[string]string{".agents": "", ".hermes/skills": "", ".hermes/agents": "", "sub/.hermes": "", ".github/hooks": "", ".github/agents": "", ".pi": "", ".augment": "", "CLAUDE.local.md": "", ".husky": "", "eslint.config.js": "", "a.prompt.md": "", ".hermes/chats/a.md": "x\n"}},
		{id: "own-link", script: `mkdir -p h/skills/a; echo x > h/skills/a/SKILL.md; ln -s h .hermes`, has: map[string]string{".hermes": ""}},
		{id: "many files", setup: `mkdir -p sub/.vscode; cd sub/.vscode; touch $(seq 5010); echo old > tasks.json`, script: `echo x > sub/.vscode/tasks.json`, has: map[string]string{"sub/.vscode": ""}},
		{id: "a folder behind a link", setup: `mkdir -p shared/deep .idea/a other; ln -s .. .idea/a/round; echo old > other/x; ln -s ../../other shared/deep/more; ln -s ../shared .idea/rc`, script: `echo x > other/x`, has: map[string]string{".idea": ""}},
		{id: "in a git folder", script: `echo x > .git/lazygit.yml; mkdir .git/safe`, has: map[string]string{".git/lazygit.yml": "", ".git/safe": ""}},
		{id: "a link out", script: `rm -rf .idea; ln -s $OUT .idea; mkdir sub; ln -s $OUT/file sub/AGENTS.md`, has: map[string]string{".idea": "", "sub/AGENTS.md": "", "../out/file": "precious"}},
	} {
		for _, m := range holding(t) {
			t.Run(m.letter(WorkspaceWrite)+"/"+a.id, func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, m, WorkspaceWrite, true)
				if out := v.user(a.setup); strings.Contains(out, "exit status") {
					t.Fatal(out)
				}
				v.run("true")
				out := v.run(a.script)
				for name, text := range a.has {
					if a.links && m.Kind == Bubblewrap && text != "" {
						continue // no mount holds a link: its replacement is removed
					}
					if text == "" && !v.lacks("ws/"+name) || text != "" && !v.has("ws/"+name, text) {
						t.Errorf("%s\n%s", name, out)
					}
				}
				if !safe(v, "") {
					t.Error("something outside was changed")
				}
			})
		}
	}
}

// A server is killed while a command runs: the next server reviews the command's changes.
func TestKilledBeforeReview(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	m := holding(t)[0]
	v := newVictim(t, m, WorkspaceWrite, true)
	v.run("true")
	watching(v.box)
	v.start(gitPayload + `git init -q n; hook n/.git/hooks; monitor n/.git/config; mkdir .idea`)
	dead := v.box // it is not closed; its lock goes with it
	dead.places.Abandon()
	v.box = New(Config{
		Mode: WorkspaceWrite, Network: true, Roots: dead.cfg.Roots, Home: v.home, HermesHome: v.hermes, Environ: dead.cfg.Environ, Mechanism: &m,
	})
	t.Cleanup(v.box.Close)
	w := watching(v.box)
	if !w.Left() {
		t.Fatal("nothing is known of the killed server")
	}
	changes, done := w.Changes()
	if len(changes) != 3 {
		t.Errorf("%+v", changes)
	}
	if err := errors.Join(w.Remove(t.Context(), changes)...); err != nil {
		t.Error(err)
	}
	done()
	w.End()
	v.user("cd n" + types)
	if !v.lacks("PWNED") || !v.lacks("ws/.idea") {
		t.Error("it is still there")
	}
	v.box.Close()
	left, _ := filepath.Glob(filepath.Join(v.hermes, "sandbox", "*", "*"))
	if len(left) != 0 {
		t.Error(left)
	}
}

// A server is killed while a command runs, and the workspace is renamed. The next server there
// reviews the command's changes and nothing else. Its commands keep their caches.
func TestKilledAndRenamed(t *testing.T) {
	t.Parallel()
	m := holding(t)[0]
	v := newVictim(t, m, WorkspaceWrite, true)
	v.write("ws/.git/config", "[core]\n\tbare = false\n[alias]\n\tl = log\n")
	v.run("echo kept > $HOME/.cache/mark; true")
	watching(v.box)
	v.start("mkdir .idea")
	dead := v.box
	dead.places.Abandon()
	if dead.held != nil {
		dead.held.Close() // as its death does
	}
	old := v.ws
	v.ws = filepath.Join(v.base, "renamed")
	if err := os.Rename(old, v.ws); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{old + "2", filepath.Join(old, "below")} {
		if n, err := Move(v.hermes, folderpath.Move{Old: from, New: v.ws}); n != 0 || err != nil {
			t.Errorf("%s: %d, %v", from, n, err)
		}
	}
	if n, err := Move(v.hermes, folderpath.Move{Old: old, New: v.ws}); n != 2 || err != nil {
		t.Errorf("moved %d, %v", n, err)
	}
	v.box = New(Config{
		Mode: WorkspaceWrite, Network: true, Roots: func() []string { return []string{v.ws} }, Home: v.home, HermesHome: v.hermes, Environ: dead.cfg.Environ, Mechanism: &m,
	})
	t.Cleanup(v.box.Close)
	w := watching(v.box)
	changes, done := w.Changes()
	if !w.Left() || len(changes) != 1 || changes[0].Path != filepath.Join(v.ws, ".idea") {
		t.Errorf("left %t: %+v", w.Left(), changes)
	}
	if err := errors.Join(w.Remove(t.Context(), changes)...); err != nil {
		t.Error(err)
	}
	done()
	w.End()
	if out := v.run("cat $HOME/.cache/mark"); !strings.Contains(out, "kept") {
		t.Errorf("the cache: %s", out)
	}
}

// A living server has scanned the workspace since. Before its next command, it reviews the changes
// of a killed server.
func TestKilledBesideALivingServer(t *testing.T) {
	t.Parallel()
	v := newVictim(t, holding(t)[0], WorkspaceWrite, true)
	v.run("true")
	dead := v.box // it is not closed; its lock goes with it
	watching(dead)
	v.box = New(Config{
		Mode: WorkspaceWrite, Network: true, Roots: dead.cfg.Roots, Home: v.home, HermesHome: v.hermes, Environ: dead.cfg.Environ, Mechanism: dead.cfg.Mechanism,
	})
	t.Cleanup(v.box.Close)
	v.run("true")
	v.write("ws/n/.vscode/tasks.json", "of a command in the background")
	v.run("true")
	if v.lacks("ws/n/.vscode") {
		t.Fatal("what another server will ask about was removed")
	}
	dead.places.Abandon()
	for end := time.Now().Add(time.Minute); ; {
		w := watching(v.box)
		if !w.Left() {
			w.End()
			if time.Now().After(end) {
				t.Fatal("it is not asked about")
			}
			time.Sleep(5 * time.Millisecond)
			continue
		}
		changes, done := w.Changes()
		if len(changes) != 1 || changes[0].Path != v.ws+"/n/.vscode" {
			t.Errorf("%+v", changes)
		}
		w.Keep(changes)
		done()
		w.End()
		break
	}
	if w := watching(v.box); w.Left() {
		t.Error("it is asked about again")
	} else {
		w.End()
	}
}

// Many changes are removed at once: each is gone, and earlier content is restored. A link replaces
// one folder: all else is still removed, and nothing behind the link.
func TestManyAreRemoved(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			for i := range 10 {
				v.write(fmt.Sprintf("ws/old%d/AGENTS.md", i), "before")
			}
			v.write("ws/user/.npmrc", "before")
			watch := watching(v.box)
			v.start(`for i in $(seq 250); do mkdir d$i; echo x >d$i/AGENTS.md; done; mkdir -p n/.vscode link; echo x >link/.npmrc; echo x >user/AGENTS.md
for i in 0 1 2 3 4 5 6 7 8 9; do echo x >old$i/AGENTS.md; done
git init -q n; for i in $(seq 20); do git -C n config alias.a$i '!x'; git -C n config --add alias.a$i '!y'; done; git -C n config user.name kept`)
			changes, done := watch.Changes()
			defer watch.End()
			defer done()
			if len(changes) != 250+1+1+1+10+20 {
				t.Errorf("%d changes", len(changes))
			}
			v.host("rm", "-r", v.ws+"/link")
			v.host("ln", "-s", "user", v.ws+"/link")
			for i, err := range watch.Remove(t.Context(), changes) {
				if linked := changes[i].Path == v.ws+"/link/.npmrc"; (err != nil) != linked {
					t.Errorf("%s: %v", changes[i].What, err)
				}
			}
			if !v.has("ws/user/.npmrc", "before") || !v.lacks("ws/user/AGENTS.md") || !v.lacks("ws/n/.vscode") || !v.has("ws/old9/AGENTS.md.denied", "x") {
				t.Error("what was removed is not what was denied")
			}
			for i := range 250 {
				if name := fmt.Sprintf("ws/d%d/AGENTS.md", i+1); !v.lacks(name) {
					t.Errorf("%s is still there", name)
				}
			}
			if v.has("ws/n/.git/config", "!") || !v.has("ws/n/.git/config", "kept") {
				t.Error("the settings are not as they were")
			}
		})
	}
}

// While a background command runs, the user changes a configuration, and another command makes a
// repository: it can write neither.
func TestBackgroundIsBound(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	v := newVictim(t, holding(t)[0], WorkspaceWrite, true)
	v.together = true
	watch := watching(v.box)
	ended := make(chan string)
	go func() {
		ended <- v.start(gitPayload + `touch started; until [ -e go ]; do sleep 0.02; done
monitor .git/config; hook .git/hooks; monitor n/.git/config; hook n/.git/hooks; mv n o; touch done`)
	}()
	v.await("ws/started")
	v.host("git", "-C", v.ws, "config", "user.name", "me") // replaces the file, and with it the mount
	v.run(`git init -q n; mkdir -p n/.git/hooks`)
	v.run("true") // a repository is held from the second look on: the first may see it half made
	v.write("ws/go", "")
	out := <-ended
	v.user(types + "cd n" + types)
	if !v.lacks("PWNED") || v.lacks("ws/n") {
		t.Error(out)
	}
	changes, done := watch.Changes()
	if len(changes) > 0 {
		t.Errorf("%+v", changes)
	}
	done()
	watch.End()
}

// await waits until a file is there.
func (v *victim) await(name string) {
	v.t.Helper()
	for end := time.Now().Add(time.Minute); v.lacks(name); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			v.t.Fatalf("%s does not come", name)
		}
	}
}
