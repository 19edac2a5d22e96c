package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// selfRunners are files of a home that run automatically.
var selfRunners = []string{
	".bashrc", ".profile", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".config/fish/config.fish",
	".config/autostart/x.desktop", ".config/systemd/user/x.service", ".config/environment.d/x.conf", ".pam_environment", ".xprofile", ".xinitrc", ".xsession",
	".gitconfig", ".config/git/config", ".local/bin/ls", "bin/ls", ".cargo/bin/cargo", "go/bin/x", ".pyenv/shims/python3", ".nvm/nvm.sh", ".rbenv/shims/ruby",
	".vimrc", ".vim/plugin/x.vim", ".config/nvim/init.lua", ".emacs", ".emacs.d/init.el", ".config/helix/languages.toml", ".config/Code/User/settings.json",
	".config/Code/User/tasks.json", ".vscode/extensions/x/x.js", ".tmux.conf", ".inputrc", ".npmrc", ".yarnrc.yml", ".gdbinit", ".irbrc", ".Rprofile",
	".local/lib/python3.13/site-packages/usercustomize.py", ".local/share/applications/x.desktop", ".cargo/config.toml", ".m2/settings.xml", ".gradle/init.gradle",
	".cache/p10k-instant-prompt-u.zsh", ".npm/_npx/1/x",
}

// TestHomeIsWorkspace opens the home itself as the workspace.
func TestHomeIsWorkspace(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, m := range here(t) {
		for _, exists := range []bool{true, false} {
			t.Run(fmt.Sprint(m.letter(WorkspaceWrite), exists), func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, m, WorkspaceWrite, true)
				v.ws = v.home
				v.write("home/project/a", "a")
				v.write("home/notes", "a")
				script := ""
				for _, name := range selfRunners {
					if exists {
						v.write("home/"+name, "of the user")
					} else if name != ".bashrc" && name != ".npmrc" {
						v.host("rm", "-rf", filepath.Join(v.home, name))
					}
					script += fmt.Sprintf("mkdir -p %[2]s; echo planted >> %[1]s; rm -rf %[1]s; ln -sf /bin/sh %[1]s; mkdir n; echo planted > n/x; mv n/x %[1]s; mv %[2]s project/; ", name, filepath.Dir(name))
				}
				out := v.run(script + `cat .ssh/id_ed25519 .aws/credentials .netrc .config/gh/hosts.yml .hermes/.env .hermes/config.yaml; echo b >> project/a; echo b > project/b; mkdir project/c; echo b >> notes; cat project/a notes`)
				for _, name := range selfRunners {
					if v.has("home/"+name, "planted") || exists && !v.has("home/"+name, "of the user") {
						t.Errorf("%s was changed", name)
					}
				}
				if strings.Contains(out, canary) || !strings.HasSuffix(out, "ab\nab\n") || !v.has("home/project/b", "b") || !v.has("home/notes", "ab") {
					t.Error(out)
				}
				if out := v.run(`echo x > new`); !strings.Contains(out, "new") || v.box.Explain(out, true) == "" || !v.lacks("home/new") {
					t.Errorf("%q is not explained: %q", out, v.box.Explain(out, true))
				}
			})
		}
	}
}

// TestPrompt opens the shell of a Powerlevel10k user after a command has written a prompt.
func TestPrompt(t *testing.T) {
	t.Parallel()
	zsh := testneed.Program(t, "zsh", "")
	for _, m := range append(here(t), Mechanism{Kind: None}) {
		mode := WorkspaceWrite
		if m.Kind == None {
			mode = Off
		}
		t.Run(m.letter(mode), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, mode, true)
			v.write("home/.zshrc", `if [[ -r "${XDG_CACHE_HOME:-$HOME/.cache}/p10k-instant-prompt-u.zsh" ]]; then source "${XDG_CACHE_HOME:-$HOME/.cache}/p10k-instant-prompt-u.zsh"; fi`)
			v.run(`echo 'echo ran > ` + v.base + `/ran' > ~/.cache/p10k-instant-prompt-u.zsh`)
			v.host("env", "-u", "XDG_CACHE_HOME", "HOME="+v.home, zsh, "-ic", "true")
			if ran := !v.lacks("ran"); ran != (m.Kind == None) {
				t.Errorf("it ran: %v", ran)
			}
		})
	}
}

// TestExplainHidden expects the hint that a path missed by a command is hidden.
func TestExplainHidden(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			v.write("home/src/lib/go.mod", "module lib")
			out := v.run(`cat ~/src/lib/go.mod`)
			if text := v.box.Explain(out, true); !strings.Contains(text, v.home+"/src/lib/go.mod") || !strings.Contains(text, "sandbox.read") {
				t.Errorf("%q is explained by %q", out, text)
			}
			if text := v.box.Explain(v.run(`cat ~/.npm/none ~/.unknown none; cat `+v.ws+`/none`), true); text != "" {
				t.Errorf("what is not there is explained by %q", text)
			}
			if text := v.box.Explain(v.run(`cat ~/.ssh/id_ed25519`), true); strings.Contains(text, "sandbox.read") {
				t.Errorf("a secret is offered: %q", text)
			}
		})
	}
}
