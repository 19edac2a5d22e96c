//go:build e2e && linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// publicProjects are the commands for a developer's fresh clone, by project. See setup/projects.sh.
var publicProjects = map[string][]string{
	"go-multierror": {"go build ./...", "go vet ./...", "go test ./..."},
	"rust-semver":   {"cargo build", "cargo test"},
	"node-fastq":    {"npm install", "npx tape test/test.js", "npm run legacy"},
	"python-markupsafe": {
		"python3 -m venv .venv",
		".venv/bin/python -m pip install --disable-pip-version-check -e . pytest",
		".venv/bin/python -m pytest",
		".venv/bin/python -m pip install --disable-pip-version-check uv",
		"UV_PROJECT_ENVIRONMENT=.venv/uv .venv/bin/uv run --python .venv/bin/python --with pytest python -m pytest",
	},
	"java-commons-cli": {"mvn -q -B -Drat.skip test"},
}

// projectPrograms are the programs for building a project, besides Go and Python.
var projectPrograms = map[string]string{"rust-semver": "cargo", "node-fastq": "npm", "java-commons-cli": "mvn"}

// inGit are the commands that follow: git works without approval.
var inGit = []string{
	"git add -A", "git commit -q -m first",
	"git checkout -q -b topic", "git worktree add -q .tree -b other",
	"git stash list", "git switch -q main", "git merge -q topic",
}

// The builds and tests of public projects in five languages pass in the sandbox, and no
// command of them requires approval.
func TestPublicProjects(t *testing.T) {
	t.Parallel()
	for name, commands := range publicProjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if program, ok := projectPrograms[name]; ok {
				found(t, program)
			}
			p := newProject(t, name)
			for _, command := range append(commands, inGit...) {
				p.command(command)
			}
			p.line.end()
		})
	}
}

// project is a session in a fresh clone of a public project.
type project struct {
	t       *testing.T
	bed     bed
	line    *line
	session string
}

func newProject(t *testing.T, name string) *project {
	t.Helper()
	b := newBed(t, nil)
	source := installed(t, "the project "+name, "projects", name)
	if err := os.CopyFS(b.workspace, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "Tester"}, {"config", "user.email", "tester@example.org"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = b.workspace
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write(t, filepath.Join(b.workspace, ".git", "info", "exclude"), "node_modules\ntarget\n.venv\n.tree\nlog.txt\n")
	// The home of the account, with tools such as rustup and pyenv, and not an empty home.
	account, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("env", "-u", "XDG_CONFIG_HOME", "-u", "XDG_DATA_HOME", "-u", "XDG_STATE_HOME", "-u", "XDG_CACHE_HOME",
		"HOME="+account.HomeDir, b.binary, "acp")
	p := &project{t: t, bed: b, line: b.lineIn(t, server)}
	p.session = p.line.newSession(b.workspace)
	return p
}

// command runs a shell command as the model does, and fails the test if its exit code is
// not 0 or if it requires approval.
func (p *project) command(command string) {
	p.t.Helper()
	log := filepath.Join(p.bed.workspace, "log.txt")
	call, err := json.Marshal([]any{map[string]any{"call": map[string]any{"name": "terminal", "args": map[string]any{
		"command": "{ " + command + "; } >log.txt 2>&1; echo \"exit=$?\" >>log.txt", "timeout": 600,
	}}}})
	if err != nil {
		p.t.Fatal(err)
	}
	prompt := "run it\n```hermes-script\n" + string(call) + "\n[{\"text\":\"Done.\"}]\n```"
	var asked, updates strings.Builder
	p.line.call("session/prompt", promptOf(p.session, prompt), nil, func(f frame) {
		if f.Method == "session/request_permission" {
			asked.WriteString(command)
			p.line.answer(f, map[string]any{"outcome": map[string]any{"outcome": "cancelled"}})
		}
		updates.WriteString(f.Params.Update.SessionUpdate + " " + f.Params.Update.Status + " ")
		updates.Write(f.Params.Update.Content)
	})
	if asked.Len() > 0 {
		p.t.Fatalf("%s requires approval", command)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		p.t.Fatalf("%s left no output: %v\n%s", command, err, updates.String())
	}
	if !strings.HasSuffix(string(text), "exit=0\n") {
		p.t.Fatalf("%s failed:\n%s\n%s", command, text, updates.String())
	}
	if err := os.Remove(log); err != nil {
		p.t.Fatal(err)
	}
}
