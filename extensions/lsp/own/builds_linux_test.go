package own

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/testdir"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// hostileBuild sets a cfg for the project, and writes files that the user's git, editor, shell and
// agents run or obey.
const hostileBuild = `use std::{env, fs, path::Path, process::Command};

fn put(path: &str, text: &str) {
    let at = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join(path);
    let _ = fs::create_dir_all(at.parent().unwrap());
    let _ = fs::write(at, text);
}

fn main() {
    let config = "[core]\n\tfsmonitor = touch pwned\n";
    put(".git/config", config);
    put(".git/hooks/pre-commit", "#!/bin/sh\n");
    put(".git/hooks/post-commit", "#!/bin/sh\n");
    put(".vscode/tasks.json", "{}");
    put(".envrc", "touch pwned");
    put("AGENTS.md", "obey");
    put("src/AGENTS.md", "obey");
    let _ = Command::new("git").args(["init", "-q", concat!(env!("CARGO_MANIFEST_DIR"), "/new")]).status();
    put("new/.git/config", config);
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("made.rs"), "").unwrap();
    println!("cargo:rustc-cfg=made");
}
`

// mechanisms are this host's working sandbox mechanisms.
func mechanisms(t *testing.T) (all []sandbox.Mechanism) {
	t.Helper()
	bwrap, _ := exec.LookPath("bwrap") // then it does not work either
	for _, m := range []sandbox.Mechanism{
		{Kind: sandbox.Namespaces, Processes: true, NoNetwork: true},
		{Kind: sandbox.Bubblewrap, Processes: true, NoNetwork: true, Program: bwrap},
		{Kind: sandbox.Landlock},
	} {
		if err := m.Try(t.Context()); err == nil {
			all = append(all, m)
		} else {
			t.Logf("%s: %v", m.Kind, err)
		}
	}
	if len(all) == 0 {
		t.Error("no sandbox works on this host")
	}
	return all
}

// snapshot returns the texts of all files of a folder, without the objects of git.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The real rust-analyzer runs the build script of a project. It reads the script's settings, and
// the script leaves nothing in the workspace.
func TestBuildScriptLeavesNothing(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	tools, err := filepath.Abs("../../../.cache/hosts/rust/toolchains") // of e2e/setup/hosts.sh
	if err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(tools, "*", "bin", "rust-analyzer"))
	if len(found) != 1 {
		testneed.Missing(t, "rust-analyzer (e2e/setup/hosts.sh)")
	}
	account, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		t.Fatal(err)
	}
	home := account.HomeDir // a folder in it is not temporary
	environ := append(os.Environ(), "HOME="+home, "CARGO_NET_OFFLINE=true", "PATH="+filepath.Dir(found[0])+":"+os.Getenv("PATH"))
	for _, m := range mechanisms(t) {
		t.Run(string(m.Kind), func(t *testing.T) {
			base, err := testdir.Make(testneed.Base(home), "ra-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { testdir.Remove(base) }) // a folder of the test
			ws := filepath.Join(base, "ws")
			put(t, filepath.Join(ws, "Cargo.toml"), "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\nbuild = \"build.rs\"\n", 0o644)
			put(t, filepath.Join(ws, "Cargo.lock"), "version = 4\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\n", 0o644)
			put(t, filepath.Join(ws, "build.rs"), strings.ReplaceAll(hostileBuild, `env!("CARGO_MANIFEST_DIR")`, `"`+ws+`"`), 0o644)
			main := filepath.Join(ws, "src/main.rs")
			put(t, main, "#[cfg(made)]\nfn made_by_build() -> u32 {\n    7\n}\n\nfn main() {\n    let _ = made_by_build();\n}\n", 0o644)
			if out, err := exec.Command("git", "init", "-q", ws).CombinedOutput(); err != nil {
				t.Fatal(string(out))
			}
			put(t, filepath.Join(ws, ".git/hooks/pre-commit"), "#!/bin/sh\necho mine\n", 0o755)
			put(t, filepath.Join(ws, ".vscode/tasks.json"), "{\"mine\": 1}", 0o644)
			before := snapshot(t, ws)
			files, err := workspace.Open([]string{ws}, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { files.Close() }) // nothing was written
			box := sandbox.New(sandbox.Config{
				Mode: sandbox.WorkspaceWrite, Network: true, Roots: files.Folders, Home: home, HermesHome: filepath.Join(base, "hermes"), Mechanism: &m,
				Read: []string{filepath.Dir(filepath.Dir(found[0]))},
			})
			t.Cleanup(box.Close)
			servers := New(Config{
				Limits:  func() Limits { return Limits{Wait: time.Minute} },
				Folders: files.Folders, Files: files, Confine: box.ConfineReader, Environ: environ,
				Log: func(string, string) {},
			})
			t.Cleanup(func() {
				servers.Close()
				left, _ := filepath.Glob(filepath.Join(os.TempDir(), "proc-macro-srv*")) // of an ended rust-analyzer
				for _, one := range left {
					os.RemoveAll(one) // the run reports leftovers
				}
			})
			var answer Answer
			found := false
			for deadline := time.Now().Add(4 * time.Minute); !found && time.Now().Before(deadline); {
				answer, err = servers.Ask(t.Context(), main, "textDocument/hover", map[string]any{
					"textDocument": map[string]any{"uri": URIOf(main)}, "position": map[string]any{"line": 6, "character": 15},
				})
				if err != nil {
					t.Fatal(err)
				}
				found = strings.Contains(string(answer.Result), "fn made_by_build")
			}
			if !found {
				t.Errorf("the function that the script sets is not known: %s", answer.Result)
			}
			if made, _ := filepath.Glob(filepath.Join(base, "hermes/caches/*/private/*/*/debug/build/*/out/made.rs")); len(made) == 0 {
				t.Error("the build script did not run in the folder of the server")
			}
			after := snapshot(t, ws)
			for name := range after {
				if text, had := before[name]; !had || text != after[name] {
					t.Errorf("%s was left or changed", name)
				}
			}
			if n, m := len(before), len(after); n > m {
				t.Errorf("%d files, then %d", n, m)
			}
		})
	}
}

// A server builds only in its own folder.
func TestBuildsIn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rust-analyzer", "zls"} {
		s := builtIn[slices.IndexFunc(builtIn, func(s spec) bool { return s.name == name })]
		env, _ := json.Marshal(s.buildsIn("/own"))
		if !strings.Contains(string(env), "=/own/") || s.buildsIn("") != nil {
			t.Errorf("%s: %s", name, env)
		}
	}
}
