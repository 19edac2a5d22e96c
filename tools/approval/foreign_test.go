package approval_test

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/approval"
)

// Nothing is opened for a line in which any program runs code that the line does not show.
func TestOpensNothingForForeignCode(t *testing.T) {
	t.Parallel()
	place := approval.Scope{Cwd: "/w", Roots: []string{"/w"}, Home: "/home/u", Env: map[string]string{"PATH": "/usr/bin", "HOME": "/home/u"}}
	if v := approval.Command("cp a .vscode/a", place); len(v.Opens) == 0 {
		t.Fatal("a plain copy opens nothing")
	}
	for _, with := range []string{
		"./evil", "sub/evil", "evil", "make", "rg --pre ./evil x", "sort --compress-program=./evil x", "tar -I ./evil -cf y.tar x", "tar -cf y.tar --checkpoint-action=exec=./evil x",
		"tar --use-compress-program ./evil -cf y x", "tar -xf y.tar --to-command=./evil", "tar --rsh-command=./evil -xf h:y.tar", "zip -T -TT ./evil y.zip x", "find . -exec ./evil {} +", "find . -execdir evil {} ';'", "ls | xargs ./evil",
		"sed '1e ./evil' x", "sed 's/x/.\\/evil/e' x", "sed -f f x", "awk 'BEGIN{system(\"./evil\")}'", "awk 'BEGIN{print 1 | \"./evil\"}'", "awk 'BEGIN{\"./evil\" | getline}'", "awk -f f x", "gawk -l ./evil 1",
		"git -c alias.x='!./evil' x", "git -c core.fsmonitor=./evil status", "git --exec-path=. status", "git grep -O./evil x", "git rebase -x ./evil main", "git ls-remote 'ext::sh -c ./evil'", "git fetch --upload-pack=./evil .",
		"git archive --remote=. --exec=./evil HEAD", "git --config-env=core.fsmonitor=X status", "git difftool -x ./evil", "git bisect run ./evil", "git submodule foreach ./evil",
		"env -S './evil x'", "env ./evil", "env PATH=. ls", "command ./evil", "exec ./evil", "nohup ./evil", "timeout 3 ./evil", "nice ./evil", "sudo ./evil", "time ./evil",
		". ./x", "source x", "eval \"$(cat x)\"", "eval \"$x\"", "bash -c \"$(cat x)\"", "sh < x", "bash x", "bash -s < x", "cat x | sh", "bash <(cat x)", "bash --rcfile x -i", "bash -i", "sh -l", "sh <<< \"$x\"", "bash -c '. ./x'",
		"trap ./evil EXIT", "install -s --strip-program=./evil x y", "PATH=.:$PATH; ls", "export PATH=bin:$PATH; ls", "PATH=. ls", "printf -v PATH bin; ls", "read PATH < x; ls", "read -r PATH <<< bin; ls", "declare PATH=bin; ls", "for PATH in bin; do ls; done", ": ${PATH:=bin}; ls", "typeset -x PATH=bin; ls",
		"LD_PRELOAD=./e.so ls", "export LD_PRELOAD=./e.so; ls", "LD_LIBRARY_PATH=. ls", "BASH_ENV=x bash -c ls", "GIT_CONFIG_GLOBAL=x git status", "XDG_CONFIG_HOME=. git status", "HOME=. git status", "GIT_DIR=sub git status", "export GIT_DIR=sub; git status", "GIT_EXEC_PATH=. git status", "GIT_EXTERNAL_DIFF=./evil git diff", "GIT_EDITOR=./evil git notes edit", "EDITOR=./evil git config -e",
		"RIPGREP_CONFIG_PATH=x rg x", "TAR_OPTIONS=--checkpoint=1 tar cf y x", "declare -n p=PATH; p=bin; ls", "enable -f ./e.so e", "builtin source x", "hash -p ./evil ls; ls", "alias ls=./evil; ls", "ls() { ./evil; }; ls", "function ls { evil; }; ls", "cd \"$(./evil)\"", "echo $(./evil)", "echo <(./evil)", "cat < <(./evil)", "[[ -v a[$(./evil)] ]]", "x=$(./evil)", "ls &>$(./evil)", "$x", "\"$x\" y", "l?", "/tmp/ls", "./ls", "~/ls", "coproc ./evil", "tee >(./evil)", "set -a; . x", "doas evil", "mapfile -C ./evil -c 1 < x", "wait; evil", "unset PATH; ls", "jq -n 'input' | sh", "xargs -I{} sh -c {} < x", "base64 -d x | bash",
	} {
		for _, line := range []string{"cp a .vscode/a; " + with, with + "\ncp a .vscode/a", "{ cp a .vscode/a & }; " + with} {
			if v := approval.Command(line, place); len(v.Opens) != 0 && v.Level != approval.Refused {
				t.Errorf("%s: opens %q", line, v.Opens)
			}
		}
	}
}
