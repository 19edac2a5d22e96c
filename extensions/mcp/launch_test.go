package mcp

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// repository is a hostile workspace. A program that runs its files creates the file pwned.
type repository struct {
	t           *testing.T
	dir, pwned  string
	home, cache string
}

func newRepository(t *testing.T, files map[string]string) *repository {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts of a Unix shell")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repository{t: t, dir: filepath.Join(top, "ws"), pwned: filepath.Join(top, "pwned"), home: filepath.Join(top, "home"), cache: filepath.Join(top, "npm")}
	for name, text := range files {
		r.write(name, text)
	}
	return r
}

func (r *repository) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "PWNED", r.pwned)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return path
}

func (r *repository) ran() bool {
	_, err := os.Lstat(r.pwned)
	return err == nil
}

// servers connects servers in a session of the repository and waits for them. answer is
// the user's decision on each approval request.
func (r *repository) servers(answer tools.Decision, list ...Server) *bed {
	r.t.Helper()
	b := newBed(r.t)
	b.answer = answer
	b.cfg.Dir = filepath.Join(r.home, ".hermes", "mcp", "cwd")
	b.cfg.Environ = []string{
		"HOME=" + r.home, "npm_config_cache=" + r.cache, "npm_config_offline=true", "npm_config_update_notifier=false",
		"PATH=" + strings.Join([]string{filepath.Join(r.dir, ".venv", "bin"), "node_modules/.bin", os.Getenv("PATH")}, ":"),
		"VIRTUAL_ENV=" + filepath.Join(r.dir, ".venv"), "UV_CACHE_DIR=" + filepath.Join(r.dir, ".uv"),
	}
	b.cfg.Permit = func(ctx context.Context, p Permission) error {
		return b.env.Gate.Check(ctx, b.env, tools.Call{ID: "m"}, tools.KindExecute, p.Title,
			policy.Verdict{Level: policy.Asks, Reason: p.Reason, Keys: []string{p.Key}, EveryMode: !p.Sandboxed})
	}
	b.cfg.Confine = func(_ context.Context, c *proc.Cmd, files map[string][]byte) error {
		c.Env = append(c.Env, "BOUND=yes")
		return nil
	}
	b.SetRoots([]string{r.dir})
	b.Connect(list)
	b.Approve(r.t.Context())
	b.Wait(r.t.Context(), testTimeout)
	b.offer()
	return b
}

const touch = "#!/bin/sh\n: >'PWNED'\n"

// TestRepositoryIsNotLoaded opens hostile repositories with common servers. python3 -m and
// npx prefer the files of their working directory.
func TestRepositoryIsNotLoaded(t *testing.T) {
	t.Parallel()
	python := "open('PWNED', 'w')\n"
	npx := map[string]string{
		"node_modules/@modelcontextprotocol/server-github/package.json": `{"name": "@modelcontextprotocol/server-github", "version": "1.0.0", "bin": {"mcp-server-github": "run.js"}}`,
		"node_modules/@modelcontextprotocol/server-github/run.js":       "#!/usr/bin/env node\nrequire('fs').writeFileSync('PWNED', '')\n",
		"node_modules/.bin/mcp-server-github":                           touch,
		"package.json":                                                  `{"dependencies": {"@modelcontextprotocol/server-github": "*"}}`,
		".npmrc":                                                        "node-options=--require ./preload.js\nscript-shell=./sh\n",
		"preload.js":                                                    "require('fs').writeFileSync('PWNED', '')\n",
		"sh":                                                            touch,
	}
	for name, tc := range map[string]struct {
		files   map[string]string
		server  Server
		control bool // the same server, started in the workspace, does run the repository's file
	}{
		"python3 -m": {map[string]string{"mcp_server_time.py": python}, Server{Command: "python3", Args: []string{"-m", "mcp_server_time"}}, true},
		"npx":        {npx, Server{Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-github"}, ConnectTimeout: time.Minute}, true},
		"venv":       {map[string]string{".venv/bin/python3": touch, ".venv/bin/sh": touch}, Server{Command: "python3", Args: []string{"-m", "mcp_server_time"}}, false},
		"relative":   {map[string]string{"node_modules/.bin/python3": touch, "sitecustomize.py": python}, Server{Command: "python3", Args: []string{"-m", "mcp_server_time"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.server.Command == "npx" {
				testneed.Program(t, "npx", "npm")
			}
			r := newRepository(t, tc.files)
			if tc.server.Name = "s"; tc.server.ConnectTimeout == 0 {
				tc.server.ConnectTimeout = testTimeout
			}
			b := r.servers(tools.DecisionDeny, tc.server)
			b.noticed("is not connected")
			if r.ran() {
				t.Error("opening the session has run a file of the repository")
			}
			if asked := b.questions(); len(asked) > 0 {
				t.Errorf("it asked %+v", asked)
			}
			if !tc.control {
				return
			}
			tc.server.Dir, tc.server.Sandbox = ".", SandboxNever
			control := r.servers(tools.DecisionOnce, tc.server)
			control.eventually("the attack in the workspace, without which this test shows nothing", func() bool {
				control.Approve(t.Context()) // it waits only a few seconds for the first attempt
				return r.ran()
			})
		})
	}
}

// TestServerStartsOutsideOfTheWorkspace checks the start of a program in the directory of
// hermes-ls, without variables of the workspace.
func TestServerStartsOutsideOfTheWorkspace(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"README": ""})
	b := r.servers(tools.DecisionDeny, Server{Name: "p", Command: os.Args[0], Env: []string{serverWord + "=yes"}})
	env := b.call("mcp__p__environ", `{}`)
	for _, not := range []string{".venv", "node_modules", "VIRTUAL_ENV", "UV_CACHE_DIR", "BOUND"} {
		if strings.Contains(env, not) {
			t.Errorf("the program sees %s: %s", not, env)
		}
	}
	if want := "PWD=" + filepath.Join(r.home, ".hermes", "mcp", "cwd"); !strings.Contains(env, want) && strings.Contains(env, "PWD=") {
		t.Errorf("it did not start in our folder: %s", env)
	}
	if got := b.call("mcp__p__roots", `{}`); !strings.Contains(got, r.dir) {
		t.Errorf("roots gave %s", got)
	}
}

// TestWorkspaceProgram checks that a server with workspace files runs in the sandbox, and only
// after the user has approved their content.
func TestWorkspaceProgram(t *testing.T) {
	t.Parallel()
	const program = "#!/bin/sh\n# FIRST\n: >'PWNED'\nexec \"$REAL\"\n"
	for name, of := range map[string]func(r *repository) Server{
		"absolute": func(r *repository) Server { return Server{Command: filepath.Join(r.dir, "run.sh")} },
		"relative": func(*repository) Server { return Server{Command: "./run.sh"} },
		"argument": func(r *repository) Server {
			return Server{Command: "sh", Args: []string{filepath.Join(r.dir, "run.sh")}}
		},
		"cwd":  func(*repository) Server { return Server{Command: "sh", Args: []string{"run.sh"}, Dir: "."} },
		"PATH": func(*repository) Server { return Server{Command: "run-of-venv"} },
		"link": func(r *repository) Server {
			link := filepath.Join(filepath.Dir(r.dir), "link.sh")
			if err := os.Symlink(filepath.Join(r.dir, "run.sh"), link); err != nil {
				r.t.Fatal(err)
			}
			return Server{Command: link}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, map[string]string{"run.sh": program, ".venv/bin/run-of-venv": program})
			s := of(r)
			s.Name, s.Env = "p", []string{serverWord + "=yes", "REAL=" + os.Args[0]}
			b := r.servers(tools.DecisionDeny, s)
			b.noticed("is not connected")
			if asked := b.questions(); len(asked) != 1 || !strings.Contains(asked[0].Reason, "run") || r.ran() {
				t.Fatalf("asked %+v, ran %v", asked, r.ran())
			}
			if got := b.Status(); got[0].State != NeedsApproval {
				t.Errorf("status = %+v", got)
			}

			b = r.servers(tools.DecisionSession, s)
			if got := b.call("mcp__p__environ", `{}`); !strings.Contains(got, "BOUND=yes") {
				t.Fatalf("it does not run in the sandbox: %s; notices %q", got, b.notices)
			}
			key := b.questions()[0].Remember
			b.Connect([]Server{})
			again := testProgram("other")
			b.Connect([]Server{again, s}) // the same files: the approval of the session applies
			b.Approve(t.Context())
			if got := b.questions(); len(got) != 1 {
				t.Errorf("it asked again for the same content: %+v", got)
			}

			b.Connect([]Server{again})
			changed := strings.Replace(program, "FIRST", "SECOND", 1)
			r.write("run.sh", changed)
			r.write(".venv/bin/run-of-venv", changed)
			if err := os.Remove(r.pwned); err != nil {
				t.Fatal(err)
			}
			b.mu.Lock()
			b.answer = tools.DecisionDeny
			b.mu.Unlock()
			b.Connect([]Server{again, s})
			b.Approve(t.Context())
			if got := b.questions(); len(got) != 2 || got[1].Remember == key || r.ran() {
				t.Errorf("changed: asked %+v, ran %v", got, r.ran())
			}
		})
	}
}

// TestWorkspaceProgramIsAskedAboutInACall checks a resumed session: it contains the tools, and the
// first call asks for approval.
func TestWorkspaceProgramIsAskedAboutInACall(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"run.sh": "#!/bin/sh\nexec \"$REAL\"\n"})
	b := r.servers(tools.DecisionDeny)
	b.answer = tools.DecisionOnce
	b.Connect([]Server{{Name: "p", Command: "./run.sh", Env: []string{serverWord + "=yes", "REAL=" + os.Args[0]}}})
	tool := b.Recalled("mcp__p__look", "(MCP server p) Looks.", nil)
	got, err := tool.Run(t.Context(), b.env, tools.Call{ID: "c", Name: "mcp__p__look"})
	if err != nil || !strings.Contains(string(got.JSON), "seen") {
		t.Errorf("look gave %s, %v; notices %q", got.JSON, err, b.notices)
	}
	if asked := b.questions(); len(asked) == 0 || !slices.ContainsFunc(asked, func(q tools.ApprovalRequest) bool { return strings.Contains(q.Title, "run.sh") }) {
		t.Errorf("asked %+v", asked)
	}
}

// TestDataOfTheWorkspaceDoesNotAsk checks that data files among the arguments need no approval.
func TestDataOfTheWorkspaceDoesNotAsk(t *testing.T) {
	t.Parallel()
	r := newRepository(t, map[string]string{"shop.db": "SQLite format 3", "notes.md": ""})
	b := r.servers(tools.DecisionDeny, Server{
		Name: "p", Command: os.Args[0], Env: []string{serverWord + "=yes"},
		Args: []string{"--db=" + filepath.Join(r.dir, "shop.db"), filepath.Join(r.dir, "notes.md"), r.dir},
	})
	if got := b.call("mcp__p__look", `{}`); !strings.Contains(got, "seen") || len(b.questions()) > 0 {
		t.Errorf("look gave %s; asked %+v", got, b.questions())
	}
}

// TestNpxRunsTheUsersPackage checks that npx runs the user's package offline in the directory of
// hermes-ls.
func TestNpxRunsTheUsersPackage(t *testing.T) {
	t.Parallel()
	testneed.Program(t, "npx", "npm")
	r := newRepository(t, map[string]string{
		"package.json":                  `{}`,
		"../own/package.json":           `{"name": "own", "version": "1.0.0", "bin": {"own": "run.sh"}}`,
		"../own/run.sh":                 "#!/bin/sh\nexec \"$REAL\"\n",
		"node_modules/.bin/own":         touch,
		"node_modules/own/run.sh":       touch,
		"node_modules/own/package.json": `{"name": "own", "version": "1.0.0", "bin": {"own": "run.sh"}}`,
	})
	b := r.servers(tools.DecisionDeny, Server{
		Name: "p", Command: "npx", Args: []string{"-y", "file:" + filepath.Join(filepath.Dir(r.dir), "own")},
		Env: []string{serverWord + "=yes", "REAL=" + os.Args[0]}, ConnectTimeout: time.Minute,
	})
	if got := b.call("mcp__p__look", `{}`); !strings.Contains(got, "seen") || r.ran() {
		t.Errorf("look gave %s; ran %v; notices %q", got, r.ran(), b.notices)
	}
}
