package sandbox

import (
	"bytes"
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/proc/proctest"
	"github.com/hermes-ls/hermes-ls/internal/testdir"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// projects are small projects with a developer's commands. Each runs if its program is installed,
// in the home of the user who runs the tests. A quick project runs with each mechanism, the others
// with a session's mechanism.
var projects = []struct {
	program, name string
	quick         bool
	files         map[string]string
	script        string
	want          string
}{
	{
		"go", "go", false, map[string]string{
			"go.mod":    "module m\n\ngo 1.24\n",
			"m.go":      "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"built\") }\n",
			"m_test.go": "package main\n\nimport \"testing\"\n\nfunc TestM(t *testing.T) { t.Log(t.TempDir()) }\n",
		},
		`export GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off; go build -o m . && ./m && go test ./... && go test ./... && go vet ./... && go install . && "$(go list -f '{{.Target}}' .)"`, "built\nok  \tm\nok  \tm\tcached\nbuilt\n",
	},
	{
		"go", "go without a warm cache", false, map[string]string{"go.mod": "module m\n\ngo 1.24\n", "m.go": "package main\n\nfunc main() { println(\"built\") }\n"},
		`GOTOOLCHAIN=local go build -o m . && ./m`, "built",
	},
	{
		"npm", "npm", false, map[string]string{
			"package.json": `{"name": "app", "version": "1.0.0", "dependencies": {"dep": "file:dep-1.0.0.tgz"}, "scripts": {"test": "node -p 'require(\"dep\")'"}}`,
			"dep/index.js": "module.exports = 'dependency'\n", "dep/package.json": `{"name": "dep", "version": "1.0.0", "bin": {"depbin": "bin.js"}}`,
			"dep/bin.js": "#!/usr/bin/env node\nconsole.log('npx')\n",
		},
		`npm pack --silent ./dep >/dev/null && npm install --offline --silent --no-audit --no-fund && npm test --silent && npx --offline depbin`, "dependency\nnpx\n",
	},
	{
		"python3", "python", true, map[string]string{
			"pyproject.toml": "[project]\nname = \"p\"\nversion = \"1\"\n", "p.py": "print('imported')\n",
		},
		`python3 -m venv --without-pip .venv && .venv/bin/python -c 'import p, ssl, sqlite3, ctypes' && python3 -c 'import sys; print(sys.prefix != "")'`, "imported\nTrue\n",
	},
	{
		"cargo", "cargo", false, map[string]string{
			"Cargo.toml": "[package]\nname = \"c\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/main.rs": "fn main() { println!(\"built\"); }\n#[test]\nfn t() {}\n",
		},
		`cargo build --offline -q && target/debug/c && cargo test --offline -q | grep -c "1 passed" `, "built\n1\n",
	},
	{
		"javac", "java", false, map[string]string{"M.java": "class M { public static void main(String[] a) { System.out.println(\"built\"); } }\n"},
		`javac M.java && java M`, "built\n",
	},
	{
		"git", "git", true, map[string]string{"a": "a"},
		`test -d .git || git init -q && git -c user.name=a -c user.email=b commit -q --allow-empty -m one && git log --format=%s`, "one\n",
	},
}

// packages are the Debian packages of programs with another name.
var packages = map[string]string{"go": "golang", "javac": "default-jdk-headless"}

func TestTools(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	if account, err := user.Current(); err == nil && !proctest.Again() {
		home = account.HomeDir // in which rustup and pyenv keep their programs, and not another HOME
	}
	environ := append(os.Environ(), "HOME="+home)
	for i, m := range here(t) {
		for _, p := range projects {
			if i > 0 && !p.quick {
				continue
			}
			t.Run(m.letter(WorkspaceWrite)+" "+p.name, func(t *testing.T) {
				t.Parallel()
				testneed.Program(t, p.program, packages[p.program])
				base, err := testdir.Make(bases(), "hermes-tools-")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { removeTree(context.Background(), base) })
				ws := filepath.Join(base, "ws")
				for name, text := range p.files {
					path := filepath.Join(ws, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				box := New(Config{
					Mode: WorkspaceWrite, Network: true, Roots: func() []string { return []string{ws} },
					Home: home, HermesHome: filepath.Join(base, "hermes"), Mechanism: &m,
				})
				t.Cleanup(box.Close)
				box.sockets = func() []string { return nil } // sockets of other tests come and go
				for range 2 {                                // with the files of the first run
					var out bytes.Buffer
					c := proc.Cmd{Args: []string{"/bin/sh", "-c", p.script}, Dir: ws, Env: environ, Stdout: &out, Stderr: &out}
					if err := box.Confine(t.Context(), &c); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					exit, err := proc.Run(ctx, c)
					cancel()
					if err != nil || exit.Code != 0 || !inOrder(out.String(), p.want) {
						t.Fatalf("%v, %v, want %q in\n%s", exit, err, p.want, out.String())
					}
				}
			})
		}
	}
}

// inOrder reports whether text contains the words of want in order.
func inOrder(text, want string) bool {
	for _, word := range strings.Fields(want) {
		_, rest, ok := strings.Cut(text, word)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}
