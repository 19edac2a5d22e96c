package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// If any program runs code from outside the line, nothing is opened for the line.
func TestOpensNothingForForeignCode(t *testing.T) {
	t.Parallel()
	place := policy.Scope{Cwd: "/w", Roots: []string{"/w"}, Home: "/home/u", Env: map[string]string{"PATH": "/usr/bin", "HOME": "/home/u"}}
	if v := policy.Command("cp a .vscode/a", place); len(v.Opens) == 0 {
		t.Fatal("a plain copy opens nothing")
	}
	for _, with := range []string{
		"./evil", "sub/evil", "evil", "make", "rg --pre ./evil x", "sort --compress-program=./evil x", "tar -I ./evil -cf y.tar x", "tar -cf y.tar --checkpoint-action=exec=./evil x",
		"tar --use-compress-program ./evil -cf y x", "tar -xf y.tar --to-command=./evil", "tar --rsh-command=./evil -xf h:y.tar", "zip -T -TT ./evil y.zip x", "find . -exec ./evil {} +", "find . -execdir evil {} ';'", "ls | xargs ./evil",
		"sed '1e ./evil' x", "sed 's/x/.\\/evil/e' x", "sed -f f x", "awk 'BEGIN{system(\"./evil\")}'", "awk 'BEGIN{print 1 | \"./evil\"}'", "awk 'BEGIN{\"./evil\" | getline}'", "awk -f f x", "gawk -l ./evil 1",
		"git -c alias.x='!./evil' x", "git -c core.fsmonitor=./evil status", "git --exec-path=. status", "git grep -O./evil x", "git rebase -x ./evil main", "git ls-remote 'ext::sh -c ./evil'", "git fetch --upload-pack=./evil .",
		"git archive --remote=. --exec=./evil HEAD", "git --config-env=core.fsmonitor=X status", "git difftool -x ./evil", "git bisect run ./evil", "git submodule foreach ./evil", "git submodule foreach --recursive 'git config x y'", "git submodule -q foreach ls",
		"env -S './evil x'", "env ./evil", "env PATH=. ls", "command ./evil", "exec ./evil", "nohup ./evil", "timeout 3 ./evil", "nice ./evil", "sudo ./evil", "time ./evil",
		"BASH_CMDS[git]=/w/evil", "declare -A BASH_CMDS; BASH_CMDS=([git]=/w/evil)", "shopt -s expand_aliases; BASH_ALIASES[git]=/w/evil", "PATH= git status", "PATH=$PWD git status",
		"git fetch --upload-pa=/w/evil . main", "git fetch --upload-p /w/evil . main", "git pull --upload-pa=/w/evil", "git ls-remote --upload-pa=/w/evil .", "git clone --no-local --upload-pa=/w/evil . x", "git clone -u/w/evil . x", "git clone -qu /w/evil . x",
		"git clone --templ=/w/tpl . x", "git grep --open-files=/w/evil one", "git grep -iO/w/evil one", "sed --fil=s.sed a.txt", "env --split='sh evil.sh'", "env -vS 'sh evil.sh'", "n=$(cat f); [[ $n -gt 1 ]]", "read n < f; [[ 1 -eq n ]]", "n=$(<f); head -n $((n+1)) a.txt",
		"install -s --strip-prog=/w/evil a.txt zz", "install -s --strip-p=/w/evil a.txt .vscode/b.json", "export GIT_TRACE=/w/.git/config", "git $x status", "git log $x", "GIT_ALLOW_PROTOCOL=ext:file git submodule update", "GIT_ALLOW_PROTOCOL=$x git submodule update", "git -c core.x=y status", "git commit --unknown", "git frobnicate", "((x=1))", "echo ${y[x]}", "echo ${y:x}", "echo ${!y}", "x[1]=2 ls",
		". ./x", "source x", "eval \"$(cat x)\"", "eval \"$x\"", "bash -c \"$(cat x)\"", "sh < x", "bash x", "bash -s < x", "cat x | sh", "bash <(cat x)", "bash --rcfile x -i", "bash -i", "sh -l", "sh <<< \"$x\"", "bash -c '. ./x'",
		"trap ./evil EXIT", "install -s --strip-program=./evil x y", "PATH=.:$PATH; ls", "export PATH=bin:$PATH; ls", "PATH=. ls", "printf -v PATH bin; ls", "read PATH < x; ls", "read -r PATH <<< bin; ls", "declare PATH=bin; ls", "for PATH in bin; do ls; done", ": ${PATH:=bin}; ls", "typeset -x PATH=bin; ls",
		"LD_PRELOAD=./e.so ls", "export LD_PRELOAD=./e.so; ls", "LD_LIBRARY_PATH=. ls", "BASH_ENV=x bash -c ls", "GIT_CONFIG_GLOBAL=x git status", "XDG_CONFIG_HOME=. git status", "HOME=. git status", "GIT_DIR=sub git status", "export GIT_DIR=sub; git status", "GIT_EXEC_PATH=. git status", "GIT_EXTERNAL_DIFF=./evil git diff", "GIT_EDITOR=./evil git notes edit", "EDITOR=./evil git config -e",
		"RIPGREP_CONFIG_PATH=x rg x", "TAR_OPTIONS=--checkpoint=1 tar cf y x", "declare -n p=PATH; p=bin; ls", "enable -f ./e.so e", "builtin source x", "hash -p ./evil ls; ls", "alias ls=./evil; ls", "ls() { ./evil; }; ls", "function ls { evil; }; ls", "cd \"$(./evil)\"", "echo $(./evil)", "echo <(./evil)", "cat < <(./evil)", "[[ -v a[$(./evil)] ]]", "x=$(./evil)", "ls &>$(./evil)", "$x", "\"$x\" y", "l?", "/tmp/ls", "./ls", "~/ls", "coproc ./evil", "tee >(./evil)", "set -a; . x", "doas evil", "mapfile -C ./evil -c 1 < x", "wait; evil", "unset PATH; ls", "jq -n 'input' | sh", "xargs -I{} sh -c {} < x", "base64 -d x | bash",
	} {
		for _, line := range []string{"cp a .vscode/a; " + with, with + "\ncp a .vscode/a", "{ cp a .vscode/a & }; " + with} {
			if v := policy.Command(line, place); len(v.Opens) != 0 && v.Level != policy.Blocked {
				t.Errorf("%s: opens %q", line, v.Opens)
			}
		}
	}
}

// A line of known programs opens exactly the files it writes.
func TestOpensForKnownPrograms(t *testing.T) {
	t.Parallel()
	place := policy.Scope{Cwd: "/w", Roots: []string{"/w"}, Home: "/home/u"}
	for line, want := range map[string]string{
		"cp a .vscode/a": "/w/.vscode", "echo {} > .vscode/settings.json": "/w/.vscode", "mkdir -p .vscode && cat a > .vscode/b": "/w/.vscode", "rm -rf .vscode": "/w/.vscode",
		"cat <<E > .vscode/a\nx\nE": "/w/.vscode", "f=settings.json; mv a .vscode/$f": "/w/.vscode", "for f in a b; do cp $f .vscode/; done": "/w/.vscode", "sed -i s/a/b/ .vscode/a": "/w/.vscode",
		"git config user.name x": "/w/.git/config", "git checkout -b x": "/w/.git/config", "git switch -c x": "/w/.git/config", "git push -u origin x": "/w/.git/config", "git branch -d x": "/w/.git/config",
		"git add -A && git commit -qm 'a b' && git push -u origin x 2>&1 | tail -3": "/w/.git/config", "git remote add origin https://h/x": "/w/.git/config", "git submodule update --init --recursive": "/w/.git/modules", "GIT_ALLOW_PROTOCOL=file:https git submodule update --init": "/w/.git/modules",
		"GIT_EDITOR=true git config user.name Ann": "/w/.git/config", "git --no-pager -C . branch -m x y": "/w/.git/config", "LC_ALL=C git checkout -q x": "/w/.git/config", "git worktree add -b x ../w2": "/w/.git/worktrees",
		"git init -q": "/w/.git/config", "[ -d x ] && rm -rf x": "/w/x", "test -n \"$x\" && git branch x": "/w/.git/config", "set -euo pipefail; rm -rf x": "/w/x", "D=.vscode; echo x > $D/a": "/w/.vscode", "install -m 644 a .vscode/a": "/w/.vscode", "git log --oneline -5; git branch x": "/w/.git/config",
		"git status": "", "git fetch origin": "/w/.git/modules", "git clone https://h/x": "", "git push": "", "git pull --ff-only": "/w/.git/modules", "git maintenance start": "",
	} {
		v := policy.Command(line, place)
		if want == "" && len(v.Opens) > 0 || want != "" && !slices.Contains(v.Opens, want) {
			t.Errorf("%s: opens %q, want %q", line, v.Opens, want)
		}
		if !strings.Contains(want, "config") && slices.Contains(v.Opens, "/w/.git/config") && strings.HasPrefix(line, "git fetch") {
			t.Errorf("%s: opens %q", line, v.Opens)
		}
	}
}
