//go:build linux

package shell

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// newSandboxed is a terminal in a repository, bound as a session's is, whose user
// answers as given.
func newSandboxed(t *testing.T, answers ...tools.Decision) (*callEnv, string, *toolstest.ListedUser) {
	t.Helper()
	env, dir := newTerminal(t)
	who := toolstest.UserAnswering(answers...)
	limit := time.Minute
	if len(answers) == 0 { // each request ends at its limit
		limit = time.Second
	}
	env.Gate = gate.New(gate.Config{Mode: "ask", Timeout: limit, Asker: who})
	env.HermesHome = t.TempDir()
	env.Sandbox = sandbox.New(sandbox.Config{
		Mode: sandbox.WorkspaceWrite, Network: true, Roots: env.Files.Folders,
		Home: t.TempDir(), HermesHome: env.HermesHome, Visible: []string{env.OutputDir},
	})
	t.Cleanup(env.Sandbox.Close)
	if m := sandbox.Detect(t.Context()); m.Kind == sandbox.None {
		t.Fatal("nothing on this host enforces a sandbox:", m.Reason)
	}
	writeFile(t, filepath.Join(dir, ".vscode", "settings.json"), "{}")
	if out, _ := runTerminal(t.Context(), t, env, `{"command":"git init -q . && git config user.name me"}`); out.ExitCode != 0 {
		t.Fatal(out.Output)
	}
	return env, dir, who
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func holds(path, text string) bool {
	got, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(got), text)
}

func TestTerminalSandboxed(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	const (
		settings = `printf '[core]\nfsmonitor = ./x\n' >> .git/config`
		made     = "git init -q sub; git -C sub config core.fsmonitor ./x"
		asks     = "which an editor or a shell reads by itself"
	)
	for _, tt := range []struct {
		name, script string // of a file, to hide its effects before it runs
		command      string // instead
		answers      []tools.Decision
		asked        int
		file, has    string // the final text of a file; "": it does not exist
		note         string
	}{
		{name: "a git setting", script: settings, file: ".git/config", has: "name = me", note: "run the git command alone"},
		{name: "a git setting of a new repository, no", script: made, answers: []tools.Decision{tools.DecisionDeny}, asked: 1, file: "sub/.git/config", has: "bare = false", note: "removed, because commands may not leave behind what runs by itself: the git setting core.fsmonitor = ./x"},
		{name: "a git setting of a new repository, yes", script: made, answers: []tools.Decision{tools.DecisionOnce}, asked: 1, file: "sub/.git/config", has: "fsmonitor"},
		{name: "a harmless git setting", command: "git config user.email me@x", file: ".git/config", has: "me@x"},
		{name: "instructions, no", script: "echo x > AGENTS.md", answers: []tools.Decision{tools.DecisionDeny}, asked: 1, file: "AGENTS.md", note: "AGENTS.md, which agents or tools obey"},
		{name: "instructions in a folder, yes", script: "mkdir d; echo x > d/AGENTS.md", answers: []tools.Decision{tools.DecisionOnce}, asked: 1, file: "d/AGENTS.md", has: "x"},
		{name: "a git setting, agreed to before", command: "git config core.hooksPath h", answers: []tools.Decision{tools.DecisionOnce}, asked: 1, file: ".git/config", has: "hooksPath"},
		{name: "settings that are new, no", script: "echo x > .envrc", answers: []tools.Decision{tools.DecisionDeny}, asked: 1, file: ".envrc", note: asks},
		{name: "settings that are new, yes", script: "echo x > .envrc", answers: []tools.Decision{tools.DecisionOnce}, asked: 1, file: ".envrc", has: "x"},
		{name: "settings that are there", script: "echo x > .vscode/settings.json", file: ".vscode/settings.json", has: "{}", note: "sandbox lets commands write only in"},
		{name: "settings, agreed to before", command: "echo x > .vscode/settings.json", answers: []tools.Decision{tools.DecisionOnce}, asked: 1, file: ".vscode/settings.json", has: "x"},
		{name: "a hook", script: "rm -rf .git/hooks; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit", file: ".git/hooks/pre-commit"},
		{name: "a hook of a new repository", script: "git init -q d/e/sub; mkdir -p d/e/sub/.git/hooks; echo x > d/e/sub/.git/hooks/pre-commit", answers: []tools.Decision{tools.DecisionDeny}, asked: 1, file: "d/e/sub/.git/hooks/pre-commit", note: "the git hook d/e/sub/.git/hooks/pre-commit"},
		{name: "our own settings", script: "mkdir .hermes; echo x > .hermes/config.yaml", file: ".hermes/config.yaml", note: "our own settings, .hermes/config.yaml"},
		{name: "a file of the workspace", script: "echo x > new", file: "new", has: "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env, dir, who := newSandboxed(t, tt.answers...)
			command := tt.command
			if tt.script != "" {
				writeFile(t, filepath.Join(dir, "made.sh"), tt.script)
				command = "make -s"
				writeFile(t, filepath.Join(dir, "Makefile"), "all:\n\t@sh made.sh\n")
			}
			out, result := runTerminal(t.Context(), t, env, `{"command":"`+command+`"}`)
			if result.IsError {
				t.Fatalf("%s", result.JSON)
			}
			path := filepath.Join(dir, tt.file)
			if _, err := os.Lstat(path); tt.has == "" && err == nil || tt.has != "" && !holds(path, tt.has) {
				t.Errorf("%s: %v\n%+v", tt.file, err, out)
			}
			if !strings.Contains(out.Note, tt.note) || tt.note == "" && strings.Contains(out.Note, "removed") && tt.name != "a hook" {
				t.Errorf("note %q, want %q in it", out.Note, tt.note)
			}
			if n := len(who.Asked); n != tt.asked {
				t.Errorf("asked %d times, want %d", n, tt.asked)
			}
		})
	}
}

// A script may unpack instructions into many directories: the user gets a single request.
func TestManyChangesAreOneQuestion(t *testing.T) {
	t.Parallel()
	for _, answer := range []tools.Decision{tools.DecisionOnce, tools.DecisionDeny} {
		t.Run(string(answer), func(t *testing.T) {
			t.Parallel()
			env, dir, who := newSandboxed(t, answer, answer)
			writeFile(t, filepath.Join(dir, "made.sh"), "for i in 1 2 3 4 5 6 7 8; do mkdir d$i; echo x > d$i/AGENTS.md; done; mkdir d1/.vscode; echo x > d1/.vscode/tasks.json")
			writeFile(t, filepath.Join(dir, "Makefile"), "all:\n\t@sh made.sh\n")
			out, _ := runTerminal(t.Context(), t, env, `{"command":"make -s"}`)
			if len(who.Asked) != 2 || !strings.Contains(who.Asked[0].Title+who.Asked[1].Title, "keep 8 changes: d1/AGENTS.md, ") {
				t.Errorf("asked %+v\n%+v", who.Asked, out)
			}
			for _, name := range []string{"d1/AGENTS.md", "d8/AGENTS.md", "d1/.vscode/tasks.json"} {
				if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != (answer == tools.DecisionOnce) {
					t.Errorf("%s: %v\n%+v", name, err, out)
				}
			}
		})
	}
}

// The state of a shell, the editor's terminal and background commands are the same in the
// sandbox.
func TestShellSandboxed(t *testing.T) {
	t.Parallel()
	env, dir, _ := newSandboxed(t, tools.DecisionSession) // asked about /tmp
	writeFile(t, filepath.Join(dir, "sub", "x"), "x")
	outside := filepath.Join(env.HermesHome, "outside")
	script := "echo x > " + outside + "; cat " + env.HermesHome + "/secret; true"
	writeFile(t, filepath.Join(dir, "made.sh"), script)
	writeFile(t, filepath.Join(env.HermesHome, "secret"), "canary")
	for _, step := range []struct{ command, want string }{
		{"cd sub; export A=1", ""},
		{"pwd; echo $A", filepath.Join(dir, "sub") + "\n1\n"},
		{"echo kept > /tmp/x; cd ..", ""},
		{"cat /tmp/x", "kept\n"},
	} {
		if out, _ := runTerminal(t.Context(), t, env, `{"command":"`+step.command+`"}`); out.Output != step.want {
			t.Errorf("%s: %+v", step.command, out)
		}
	}
	check := func(how string, out terminalOut) {
		if _, err := os.Stat(outside); err == nil || strings.Contains(out.Output, "canary") {
			t.Errorf("%s: %+v", how, out)
		}
	}
	out, _ := runTerminal(t.Context(), t, env, `{"command":"sh made.sh"}`)
	check("as usual", out)
	out, _ = runTerminal(t.Context(), t, env, `{"command":"sh made.sh","pty":true}`)
	check("with a terminal", out)
	env.Terminals = editorTerminals{t: t}
	out, _ = runTerminal(t.Context(), t, env, `{"command":"sh made.sh"}`)
	check("in the editor's terminal", out)
}

// Commands of a session see its background processes, and can end them by their number.
func TestBackgroundIsSeenInside(t *testing.T) {
	t.Parallel()
	env, _, _ := newSandboxed(t, tools.DecisionSession, tools.DecisionSession)
	if m := sandbox.Detect(t.Context()); !m.Processes {
		t.Skip("this host has no process namespaces of ours")
	}
	env.Processes = NewProcesses(func(string) {})
	defer env.Processes.Close(context.Background()) // of this test alone
	_, result := runTerminal(t.Context(), t, env, `{"command":"exec sleep 1000","background":true}`)
	var started startedOut
	if err := json.Unmarshal(result.JSON, &started); err != nil || started.PID == 0 {
		t.Fatalf("%s, %v", result.JSON, err)
	}
	pid := strconv.Itoa(started.PID)
	out, _ := runTerminal(t.Context(), t, env, `{"command":"tr '\\0' ' ' </proc/`+pid+`/cmdline; kill `+pid+`"}`)
	if !strings.Contains(out.Output, "sleep 1000") || out.ExitCode != 0 {
		t.Errorf("%+v", out)
	}
	b := env.Processes.find(started.SessionID)
	<-b.process.Done()
	if exit, _ := b.process.Wait(); exit.Signal != "SIGTERM" {
		t.Errorf("%+v", exit)
	}
}
