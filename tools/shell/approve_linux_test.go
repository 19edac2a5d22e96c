//go:build linux

package shell

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

func commandOf(t *testing.T, command string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return string(args)
}

// After approval, the judged content runs, also if another process rewrites the file once
// the command has started.
func TestJudgedContentIsFrozen(t *testing.T) {
	t.Parallel()
	const wait = "rm -rf y; touch ready; until test -e go; do sleep 0.01; done; "
	for name, command := range map[string]string{
		"script":     "sh x.sh",
		"stdin":      "sh < x.sh",
		"pipe":       "cat x.sh | sh",
		"folder":     "cd sub && sh ../x.sh",
		"make":       "make -s -f x.mk",
		"by itself":  "./x.sh",
		"by bash -o": "bash -o errexit x.sh",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir, _ := newSandboxed(t, tools.DecisionOnce)
			writeFile(t, filepath.Join(dir, "sub", "a"), "")
			text := func(word string) {
				writeFile(t, filepath.Join(dir, "x.sh"), "echo "+word+"\n")
				writeFile(t, filepath.Join(dir, "x.mk"), "all:\n\t@echo "+word+"\n")
			}
			text("judged")
			if err := os.Chmod(filepath.Join(dir, "x.sh"), 0o755); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for t.Context().Err() == nil {
					if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
						text("swapped")
						writeFile(t, filepath.Join(dir, "go"), "")
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			out, _ := runTerminal(t.Context(), t, env, commandOf(t, wait+command))
			<-done
			if out.Output != "judged\n" {
				t.Errorf("%+v", out)
			}
		})
	}
}

// Directories that contain a repository or settings can be moved and removed only by a command that
// names them.
func TestFoldersThatAreNamedMove(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	const made = "for d in a b; do mkdir -p $d/.vscode && git init -q $d && (cd $d && git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x); done; git init -q . ; git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x"
	for name, tt := range map[string]struct {
		command string
		gone    string
		there   string
	}{
		"removed":             {command: "rm -rf a", gone: "a"},
		"removed, from it":    {command: "cd a && rm -rf ../b", gone: "b"},
		"moved":               {command: "mv a c", gone: "a", there: "c/.git/HEAD"},
		"moved into":          {command: "mkdir d; mv a b d/", gone: "b", there: "d/b/.git/HEAD"},
		"by a pattern":        {command: "rm -rf [ab]", gone: "b"},
		"moved by git":        {command: "mkdir -p s; echo x > s/f; git add s; git mv s t", gone: "s", there: "t/f"},
		"cleaned":             {command: "git clean -qffdx", gone: "a/.git"},
		"worktree":            {command: "git worktree add -q w && git worktree remove w", gone: "w", there: "a"},
		"worktree, moved":     {command: "git worktree add -q w && git worktree move w v", gone: "w", there: "v/.git"},
		"by a script":         {command: "sh -c 'sh rm.sh'; true", there: "a/.git/config"},
		"by a script, beside": {command: "rm -rf b; sh rm.sh; true", there: "a/.git/config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir, _ := newSandboxed(t, tools.DecisionSession, tools.DecisionSession, tools.DecisionSession, tools.DecisionSession, tools.DecisionSession)
			writeFile(t, filepath.Join(dir, "rm.sh"), "mv a z; rm -rf a b\n")
			for _, command := range []string{made, tt.command} {
				for part := range strings.SplitSeq(command, " && git worktree ") {
					if strings.HasPrefix(part, "remove") || strings.HasPrefix(part, "move") {
						part = "git worktree " + part // as a separate command
					}
					if out, result := runTerminal(t.Context(), t, env, commandOf(t, part)); result.IsError || out.ExitCode != 0 {
						t.Fatalf("%s: %s", part, result.JSON)
					}
				}
			}
			if _, err := os.Lstat(filepath.Join(dir, tt.gone)); tt.gone != "" && err == nil {
				t.Errorf("%s is still there", tt.gone)
			}
			if _, err := os.Lstat(filepath.Join(dir, tt.there)); err != nil {
				t.Error(err)
			}
		})
	}
}

// The session's own temporary files, which the host has elsewhere, are compared, too.
func TestTemporaryScriptIsBound(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"sh /tmp/approved-x.sh", "cd /tmp && ./approved-x.sh", "sh < /var/tmp/approved-x.sh"} {
		env, _, _ := newSandboxed(t, tools.DecisionOnce)
		if out, _ := runTerminal(t.Context(), t, env, commandOf(t, "echo 'echo judged' > /tmp/approved-x.sh; chmod +x /tmp/approved-x.sh")); out.ExitCode != 0 {
			t.Fatalf("%+v", out)
		}
		env.Gate = gate.New(gate.Config{Mode: "ask", Timeout: time.Minute, Asker: meddler{func() {
			plain := *env.Env
			plain.Gate = nil
			if out, result := runTerminal(t.Context(), t, &callEnv{&plain, env.Config}, commandOf(t, "echo 'echo swapped' > /tmp/approved-x.sh")); out.ExitCode != 0 || result.IsError {
				t.Errorf("%s", result.JSON)
			}
		}}})
		out, result := runTerminal(t.Context(), t, env, commandOf(t, "rm -rf y; "+command))
		if !result.IsError || !strings.Contains(string(result.JSON), "was changed while") {
			t.Errorf("%s: %s %+v", command, result.JSON, out)
		}
		env.Gate = gate.New(gate.Config{Mode: "ask", Timeout: time.Minute, Asker: toolstest.UserAnswering(tools.DecisionOnce)})
		if out, result := runTerminal(t.Context(), t, env, commandOf(t, "rm -rf y; "+command)); out.Output != "swapped\n" {
			t.Errorf("%s, unchanged: %s", command, result.JSON)
		}
	}
}

// The same, if a background command of the session replaces the judged file or its
// directory.
func TestJudgedContentIsNotReplaced(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	const wait = "rm -rf y; touch ready; until test -e go; do sleep 0.01; done; "
	for name, tt := range map[string]struct{ command, swap string }{
		"written": {"sh x.sh", "echo 'echo swapped' > x.sh"},
		"renamed": {"sh x.sh", "echo 'echo swapped' > n; mv -f n x.sh"},
		"removed": {"sh x.sh", "rm -f x.sh; echo 'echo swapped' > x.sh"},
		"moved":   {"sh x.sh", "mv x.sh o; echo 'echo swapped' > x.sh"},
		"folder":  {"sh sub/x.sh", "mv sub o; mkdir sub; echo 'echo swapped' > sub/x.sh"},
		"link":    {"cd l && sh x.sh", "mkdir e; echo 'echo swapped' > e/x.sh; ln -sfn e l"},
		"above":   {"sh a/b/x.sh", "mv a o; mkdir -p a/b; echo 'echo swapped' > a/b/x.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir, _ := newSandboxed(t, tools.DecisionOnce)
			for _, path := range []string{"x.sh", "sub/x.sh", "a/b/x.sh"} {
				writeFile(t, filepath.Join(dir, path), "echo judged\n")
			}
			if err := os.Symlink("sub", filepath.Join(dir, "l")); err != nil {
				t.Fatal(err)
			}
			writeFile(t, filepath.Join(dir, "bg.sh"), "until test -e ready; do sleep 0.01; done\n"+tt.swap+"\ntouch go\n")
			env.Processes = NewProcesses(func(string) {})
			defer env.Processes.Close(context.Background()) // the test's end
			if _, result := runTerminal(t.Context(), t, env, `{"command":"sh bg.sh","background":true}`); result.IsError {
				t.Fatalf("%s", result.JSON)
			}
			out, result := runTerminal(t.Context(), t, env, commandOf(t, wait+tt.command))
			if strings.Contains(out.Output, "swapped") || !result.IsError && out.Output == "" {
				t.Errorf("%s %+v", result.JSON, out)
			}
		})
	}
}

// The approval of a command opens no protected place to other code.
func TestApprovalOpensOnlyWhatTheLineWrites(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	const evil = "mkdir -p .vscode; echo evil > .vscode/tasks.json; echo evil > .vscode/settings.json; git config core.fsmonitor ./evil; true"
	for name, tt := range map[string]struct {
		mode    string
		first   string // agreed to for the session
		command string
		file    string // "" : nothing evil anywhere
		has     string
	}{
		"a name that begins alike":    {command: "rm -rf .vscode-test && sh mk.sh"},
		"the same, by settings":       {command: "rm -rf core.fsmonitor .vscode-test; sh mk.sh"},
		"approvals off":               {mode: "off", command: "rm -rf build/.vscode-x; sh mk.sh"},
		"approvals off, git":          {mode: "off", command: "rm -rf core.fsmonitor; sh mk.sh"},
		"for the session":             {first: "echo {} > .vscode/settings.json", command: "echo {} > .vscode/settings.json; sh mk.sh"},
		"for the session, a function": {first: "echo {} > .vscode/settings.json", command: "echo() { sh mk.sh; }; echo {} > .vscode/settings.json"},
		"a Python beside it":          {command: "echo {} > .vscode/settings.json; python3 mk.py"},
		"a program of the workspace":  {command: "echo {} > .vscode/settings.json; ./cat"},
		"what it writes":              {command: "rm -rf x; echo good > .vscode/settings.json", file: ".vscode/settings.json", has: "good"},
		"what it copies":              {command: "cp mk.sh .vscode/new.sh", file: ".vscode/new.sh", has: "mkdir"},
		"what it edits":               {command: "sed -i s/{}/good/ .vscode/settings.json", file: ".vscode/settings.json", has: "good"},
		"a setting of git":            {command: "git config user.email a@b.c && git remote add o https://x/y", file: ".git/config", has: "a@b.c"},
		"a setting, from a folder":    {command: "mkdir -p a/b; cd a/b && git config user.email a@b.c", file: ".git/config", has: "a@b.c"},
		"a setting that runs":         {command: "git config core.fsmonitor ./good", file: ".git/config", has: "good"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dir, _ := newSandboxed(t, tools.DecisionSession, tools.DecisionDeny, tools.DecisionDeny, tools.DecisionDeny, tools.DecisionDeny, tools.DecisionDeny)
			if tt.first != "" {
				if out, result := runTerminal(t.Context(), t, env, commandOf(t, tt.first)); result.IsError || out.ExitCode != 0 {
					t.Fatalf("%s", result.JSON)
				}
			}
			if tt.mode != "" {
				env.Gate.(*gate.Gate).SetMode(tt.mode)
			}
			if tt.file == "" && tt.first == "" { // a single approval, of the command
				user := toolstest.UserAnswering(tools.DecisionOnce, tools.DecisionDeny, tools.DecisionDeny, tools.DecisionDeny, tools.DecisionDeny)
				if tt.mode == "off" {
					user = toolstest.UserAnswering(tools.DecisionDeny, tools.DecisionDeny, tools.DecisionDeny, tools.DecisionDeny)
				}
				env.Gate = gate.New(gate.Config{Mode: cmp.Or(tt.mode, "ask"), Timeout: time.Minute, Asker: user})
			}
			writeFile(t, filepath.Join(dir, "mk.sh"), evil)
			writeFile(t, filepath.Join(dir, "mk.py"), "import subprocess\nsubprocess.run(['sh', 'mk.sh'])\n")
			writeFile(t, filepath.Join(dir, "cat"), "#!/bin/sh\n"+evil)
			if err := os.Chmod(filepath.Join(dir, "cat"), 0o755); err != nil {
				t.Fatal(err)
			}
			out, result := runTerminal(t.Context(), t, env, commandOf(t, tt.command))
			if tt.file != "" {
				if !holds(filepath.Join(dir, tt.file), tt.has) {
					t.Errorf("%s is not open: %s %+v", tt.file, result.JSON, out)
				}
				return
			}
			for _, file := range []string{".vscode/tasks.json", ".vscode/settings.json", ".git/config"} {
				if holds(filepath.Join(dir, file), "evil") {
					t.Errorf("%s is open to a script: %+v", file, out)
				}
			}
		})
	}
}
