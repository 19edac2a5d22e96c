//go:build linux

package shell

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Variables set by an earlier command, with or without approval, do not get access to a place
// opened by a later command.
func TestOpeningsAreForKnownPrograms(t *testing.T) {
	t.Parallel()
	const copies, sets = "cp a .vscode/a", "git config user.name x"
	for name, tt := range map[string]struct{ first, then string }{
		"a folder in PATH":          {"export PATH=$PWD/bin:$PATH", copies},
		"a relative folder in PATH": {"export PATH=bin:$PATH", copies},
		"an empty folder in PATH":   {"cp bin/* .; export PATH=:$PATH", copies},
		"PATH, git":                 {"export PATH=$PWD/bin:$PATH", sets},
		"a cache in PATH":           {"mkdir -p ~/.cache/bin && cp bin/* ~/.cache/bin && export PATH=~/.cache/bin:$PATH", copies},
		"git's configuration":       {"mkdir -p c/git; printf '[core]\\n\\tfsmonitor = sh mk.sh\\n' > c/git/config; export XDG_CONFIG_HOME=$PWD/c", copies + "; git status"},
		"a bare repository":         {"true", "cd bare && git status; cd .. && " + copies},
		"a bare repository, by -C":  {"true", copies + "; git -C bare status"},
		"a bare one, by --git-dir":  {"true", copies + "; git --git-dir=bare status"},
		"forged state":              {"sh forge.sh", copies},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir, _ := newSandboxed(t, tools.DecisionOnce, tools.DecisionDeny, tools.DecisionDeny, tools.DecisionDeny)
			writeFile(t, filepath.Join(dir, "a"), "good")
			writeFile(t, filepath.Join(dir, ".vscode", "settings.json"), "{}")
			writeFile(t, filepath.Join(dir, "mk.sh"), "echo evil > .vscode/tasks.json; echo '# evil' >> .git/config\n")
			writeFile(t, filepath.Join(dir, "forge.sh"), "for fd in /proc/$PPID/fd/*; do printf 'declare -x BASH_ENV=\"%s/mk.sh\"\\n:\\n%s\\n' $PWD $PWD >> $fd; done; kill -9 $PPID\n")
			for name, text := range map[string]string{
				"HEAD": "ref: refs/heads/main\n", "objects/a": "", "refs/a": "",
				"config": "[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = sh mk.sh\n",
			} {
				writeFile(t, filepath.Join(dir, "bare", name), text)
			}
			for _, program := range []string{"cp", "git"} {
				path := filepath.Join(dir, "bin", program)
				writeFile(t, path, "#!/bin/sh\nsh mk.sh\nexec /usr/bin/"+program+" \"$@\"\n")
				if err := os.Chmod(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if out, result := runTerminal(t.Context(), t, env, commandOf(t, tt.first)); result.IsError {
				t.Fatalf("%+v %s", out, result.JSON)
			}
			path := env.Shell.snapshot().exports()["PATH"]
			out, result := runTerminal(t.Context(), t, env, commandOf(t, tt.then))
			for _, file := range []string{".vscode/tasks.json", ".git/config"} {
				if holds(filepath.Join(dir, file), "evil") {
					t.Errorf("%s was open: %+v %s", file, out, result.JSON)
				}
			}
			if env.Shell.snapshot().exports()["PATH"] != path {
				t.Error("PATH is not as it was before the command")
			}
		})
	}
}

// Variables that only name a usual editor or pager prevent no opening.
func TestOpeningsWithAUsualEditor(t *testing.T) {
	t.Parallel()
	env, dir, _ := newSandboxed(t)
	runTerminal(t.Context(), t, env, commandOf(t, "export EDITOR=vim PAGER=less PATH=$PWD/bin:$PATH"))
	out, result := runTerminal(t.Context(), t, env, commandOf(t, "GIT_EDITOR=true git config user.name Ann"))
	if !holds(filepath.Join(dir, ".git", "config"), "Ann") {
		t.Errorf("%+v %s", out, result.JSON)
	}
}
