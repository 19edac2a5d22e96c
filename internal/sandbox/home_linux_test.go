package sandbox

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// planted lists files run by the user's own shell, editor, hooks or builds if a command leaves them
// in a cache.
var planted = []string{
	".cache/p10k-instant-prompt-u.zsh", ".cache/wal/sequences", ".cache/wal/colors.sh", ".cache/nvim/luac/x.luac", ".cache/pre-commit/repo1/hook",
	".cache/go-build/00/x-d", ".cache/pypoetry/virtualenvs/p/bin/python", ".cache/ms-playwright/chromium-1/chrome", ".cache/bazelisk/downloads/x/bin/bazel",
	".cache/starship/init.bash", ".npm/_npx/1/node_modules/.bin/x", "go/pkg/mod/golang.org/toolchain@v0.0.1-go1.99.linux-amd64/bin/go", "go/pkg/mod/a.example/m@v1.0.0/m.go",
	"go/bin/gopls", ".local/share/uv/tools/ruff/bin/ruff", ".local/share/uv/python/cpython-3.13/bin/python3", ".gradle/wrapper/dists/g/bin/gradle", ".gradle/init.gradle",
	".local/share/virtualenvs/p/bin/python", ".local/share/hatch/env/bin/python", ".local/share/pnpm/x", ".m2/repository/o/p/1/p-1.jar", ".cargo/registry/src/i/c-1/build.rs",
	".cargo/bin/cargo", ".cargo/config.toml", ".cargo/env", ".rustup/toolchains/stable/bin/rustc", ".local/bin/ls", "bin/ls", ".dotnet/tools/x", ".deno/bin/deno", ".bun/bin/bun",
}

// TestPlanted runs a command that writes each of them, over existing files and as new files.
// Nothing reaches the user's home.
func TestPlanted(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			script := ""
			for i, name := range planted {
				if i%2 == 0 {
					v.write("home/"+name, "of the user")
				} else if i%3 == 0 {
					v.write("home/"+filepath.Dir(name)+"/other", "of the user")
				}
				script += fmt.Sprintf("mkdir -p ~/%[2]s; echo planted > ~/%[1]s; echo planted >> ~/%[1]s; rm -f ~/%[1]s; ln -s /bin/sh ~/%[1]s; mv ~/%[2]s ~/%[2]s.old; mkdir ~/%[2]s; echo planted > ~/%[1]s\n", name, filepath.Dir(name))
			}
			v.run(script)
			for i, name := range planted {
				if i%2 == 0 && !v.has("home/"+name, "of the user") || i%2 == 1 && !v.lacks("home/"+name) || v.has("home/"+name, "planted") {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// TestLayers writes files to a cache with the user's content. The next command, a concurrent
// command, and the next session see them.
func TestLayers(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, m := range here(t) {
		if m.Kind != Namespaces {
			continue
		}
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			v.write("home/.cache/tool/warm", "warm")
			v.write("home/.cargo/bin/tool", "program")
			v.write("home/.cargo/credentials.toml", canary)
			out := v.run(`cat ~/.cache/tool/warm ~/.cargo/bin/tool ~/.cargo/credentials.toml; echo one > ~/.cache/tool/cold; echo changed > ~/.cache/tool/warm; rm -r ~/.cargo/bin`)
			if !strings.HasPrefix(out, "warmprogram") || strings.Contains(out, canary) {
				t.Errorf("the cache is not as the user has it: %q", out)
			}
			if !v.has("home/.cache/tool/warm", "warm") || !v.lacks("home/.cache/tool/cold") || v.lacks("home/.cargo/bin/tool") {
				t.Error("the user's cache was changed")
			}
			filepath.WalkDir(v.box.cfg.HermesHome, func(path string, d fs.DirEntry, err error) error {
				if info, statErr := os.Stat(path); err != nil || statErr == nil && d.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
					t.Errorf("the user cannot remove %s: %v", path, err)
				}
				return nil
			})
			const look = `cat ~/.cache/tool/warm ~/.cache/tool/cold; ls -d ~/.cargo/bin`
			if out := v.run(look); !strings.HasPrefix(out, "changed\none\n") || strings.Contains(out, "\n"+v.home) {
				t.Errorf("the next command finds %q", out)
			}
			beside := proc.Cmd{Args: []string{"/bin/sh", "-c", "mkfifo p; read x < p"}, Dir: v.ws}
			if err := v.box.Confine(t.Context(), &beside); err != nil {
				t.Fatal(err)
			}
			other, err := proc.Start(t.Context(), beside)
			if err != nil {
				t.Fatal(err)
			}
			if out := v.run(`while [ ! -p p ]; do sleep 0.01; done; ` + look + `; echo x > ~/.cache/tool/beside && cat ~/.cache/tool/beside; echo >> p`); !strings.HasPrefix(out, "changed\none\n") || !strings.HasSuffix(out, "x\n") {
				t.Errorf("beside another command one finds %q", out)
			}
			if _, err := other.Wait(); err != nil {
				t.Error(err)
			}
			c := v.box.cfg
			v.box.Close()
			v.box = New(c)
			defer v.box.Close()
			if out := v.run(look); !strings.HasPrefix(out, "changed\none\n") {
				t.Errorf("the next session finds %q", out)
			}
			c.Workspace = v.out
			v.box = New(c)
			defer v.box.Close()
			if out := v.run(look); !strings.HasPrefix(out, "warm") || strings.Contains(out, "one") {
				t.Errorf("another workspace finds %q", out)
			}
		})
	}
}

// If a command removes its rights to a cache, or the user has a read-only cache, the other caches
// still work.
func TestReadOnlyCaches(t *testing.T) {
	t.Parallel()
	m := here(t)[0]
	v := newVictim(t, m, WorkspaceWrite, true)
	v.write("home/.cache/tool/warm", "warm")
	v.write("home/.m2/repository/x", "jar")
	v.write("home/.npm/_cacache/x", "npm")
	if err := os.Chmod(filepath.Join(v.home, ".m2"), 0o555); err != nil {
		t.Fatal(err)
	}
	const look = `cat ~/.cache/tool/warm ~/.npm/_cacache/x; echo; echo x > ~/.cache/tool/new; echo x > ~/.npm/new; cat ~/.cache/tool/new ~/.npm/new`
	for range 2 {
		if out := v.run(look + `; chmod 0 ~/.cache`); out != "warmnpm\nx\nx\n" {
			t.Errorf("%q", out)
		}
		layered.Lock()
		layered.trials = nil // as in another server
		layered.Unlock()
		c := v.box.cfg
		v.box.Close()
		v.box = New(c)
		defer v.box.Close()
	}
}

// TestSharedCaches expects a command to write the user's caches, and nothing beside them.
func TestSharedCaches(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			v.box.SetHome(SharedCaches, nil)
			v.write("home/.cargo/bin/tool", "program")
			v.write("home/.cargo/registry/x", "x")
			out := v.run(`echo y > ~/.cache/y; echo y > ~/.cargo/registry/y; cat ~/.cargo/bin/tool; echo y > ~/.cargo/bin/tool`)
			if !v.has("home/.cache/y", "y") || !v.has("home/.cargo/registry/y", "y") || !v.has("home/.cargo/bin/tool", "program") || !strings.HasPrefix(out, "program") {
				t.Error(out)
			}
		})
	}
}

// TestHomeHidden expects only tools, caches and settings of a home to be visible.
func TestHomeHidden(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, m := range here(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			for name, text := range map[string]string{
				".1password/secret": canary, "Documents/diary.txt": canary, ".bash_history": canary, ".unknown/token": canary, ".config/unknown/token": canary,
				".local/share/unknown/x": canary, ".gitconfig": "[user]\n\tname = me\n[include]\n\tpath = .gitwork\n[http]\n\textraheader = Basic " + canary + "\n",
				".gitwork": "[user]\n\temail = e@x\n", ".config/pip/pip.conf": "index-url = https://u:" + canary + "@pip.example/simple\n", ".tool-versions": "go 1\n",
				".pyenv/versions/3/bin/python3": "py", ".local/bin/x": "x", "apps/real/bin/prog": "prog", "apps/real/lib/l": "lib", "apps/other": canary,
				"opt/tool/bin/t": "t", "opt/tool/lib/t": "tlib", "opt/none": canary, "venvs/a/bin/python": "", "venvs/a/lib/l": "vlib", "data/set": "data", "elsewhere/cache/c": "cached",
			} {
				v.write("home/"+name, text)
			}
			v.host("chmod", "755", v.home+"/apps/real/bin/prog")
			v.host("ln", "-s", v.home+"/apps/real/bin/prog", v.home+"/.local/bin/prog")
			v.host("rm", "-r", v.home+"/.cache")
			v.host("ln", "-s", "elsewhere/cache", v.home+"/.cache")
			v.box.views.environ = append(v.box.views.environ, "PATH="+v.home+"/opt/tool/bin:"+v.home+"/.local/bin:/usr/bin:/bin", "VIRTUAL_ENV="+v.home+"/venvs/a")
			v.box.SetHome(OwnCaches, []string{"~/data"})
			out := v.run(`cd ~; cat .1password/secret Documents/diary.txt .bash_history .unknown/token .config/unknown/token .local/share/unknown/x apps/other opt/none
cat .gitconfig .config/pip/pip.conf; echo x > new; echo x > .gitconfig; mkdir .config/fish; true`)
			if strings.Contains(out, canary) || !v.lacks("home/new") || !v.has("home/.gitconfig", "name = me") || !v.lacks("home/.config/fish") {
				t.Error(out)
			}
			settings := "git config user.name; git config user.email; cat .config/pip/pip.conf; "
			want := []string{"me", "e@x", "index-url = https://pip.example/simple"}
			if m.Kind == Landlock { // it cannot show a part of a file
				settings, want = "", nil
			}
			cache, cached := "; cat .cache/c", "cached"
			if m.Kind == Bubblewrap { // it has a private cache
				cache, cached = "", ""
			}
			out = v.run(`cd ~; ` + settings + `cat .tool-versions .pyenv/versions/3/bin/python3; echo; cat .local/bin/prog apps/real/lib/l opt/tool/lib/t venvs/a/lib/l data/set` + cache)
			if want := strings.Join(append(want, "go 1", "py", "proglibtlibvlibdata"+cached), "\n"); out != want {
				t.Errorf("%q, want %q", out, want)
			}
		})
	}
}

// TestUnnamedSockets opens sockets of the user's programs at paths in no list and no variable.
func TestUnnamedSockets(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	for _, m := range here(t) {
		for _, network := range []bool{true, false} {
			t.Run(fmt.Sprint(m.letter(WorkspaceWrite), network), func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, m, WorkspaceWrite, network)
				script := ""
				for _, name := range []string{"home/.1password/agent.sock", "home/.emacs.d/server/server", "home/.local/share/podman/s", "home/.local/state/watchman/s", "home/s", "out/lib.sock"} {
					path := filepath.Join(v.base, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					l, err := net.Listen("unix", path)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { l.Close() }) // a socket of the test
					script += "$ATTACK connect " + path + "; ln -s " + path + " s; $ATTACK connect s; rm -f s; "
				}
				v.box.shared.sockets = func() []string { return []string{filepath.Join(v.out, "lib.sock")} }
				if all := openSockets(); !strings.Contains(strings.Join(all, "\n"), v.out) {
					t.Errorf("the open sockets are not seen: %q", all)
				}
				out := v.run(script)
				if got, want := strings.Contains(out, "broken"), m.Kind == Landlock && !resolvesUnix(); got != want {
					t.Errorf("reached: %v, want %v\n%s", got, want, out)
				}
			})
		}
	}
}
