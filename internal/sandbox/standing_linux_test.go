package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A standing program leaves a file that runs automatically. The next command finds it before it
// starts, and a review removes it. The user is not asked twice about programs started meanwhile.
func TestStanding(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(string(m.Kind), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			for _, by := range []string{"the plugin p", "the MCP server m", "the plugin p"} {
				if _, err := v.box.Stand(t.Context(), by); err != nil {
					t.Fatal(err)
				}
			}
			first := watching(v.box)
			if beside := first.Beside(); beside != nil {
				t.Errorf("nothing has changed, and there is %q", beside)
			}
			first.End()
			v.start(`git init -q new; git -C new config core.fsmonitor 'touch pwned'; mkdir -p deep/.vscode sub
				echo x >deep/.vscode/tasks.json; echo x >sub/.envrc; echo x >AGENTS.md; echo x >new/.git/info/attributes; echo x >.nvim.lua`)
			next := watching(v.box)
			if got := strings.Join(next.Beside(), ", "); got != "the plugin p, the MCP server m" {
				t.Errorf("before the next command: %q", got)
			}
			changes, done := next.Changes()
			var found []string
			for _, c := range changes {
				found = append(found, c.What)
			}
			for _, want := range []string{"core.fsmonitor", "tasks.json", "sub/.envrc", "AGENTS.md", "info/attributes", ".nvim.lua"} {
				if !strings.Contains(strings.ReplaceAll(strings.Join(found, "\n"), "deep/.vscode,", "deep/.vscode/tasks.json"), want) {
					t.Errorf("%s is not reviewed: %q", want, found)
				}
			}
			for _, err := range next.Remove(t.Context(), changes) {
				if err != nil {
					t.Error(err)
				}
			}
			done()
			next.End()
			if v.has("ws/new/.git/config", "fsmonitor") || !v.lacks("ws/sub/.envrc") || !v.lacks("ws/AGENTS.md") || !v.lacks("ws/new/.git/info/attributes") {
				t.Error("something stays")
			}
			again := watching(v.box)
			if beside := again.Beside(); beside != nil {
				t.Errorf("after the review: %q", beside)
			}
			again.End()
		})
	}
}

// If the sandbox is turned on after the start of a program, the program is watched from then on.
func TestStandingFromTheSwitch(t *testing.T) {
	t.Parallel()
	v := newVictim(t, here(t)[0], Off, true)
	if w, err := v.box.Stand(t.Context(), "the plugin p"); w != nil || err != nil {
		t.Fatal(w, err)
	}
	v.write("ws/sub/.envrc", "mine")
	v.box.Set(WorkspaceWrite, true)
	v.write("ws/AGENTS.md", "obey")
	w := watching(v.box)
	defer w.End()
	if got := strings.Join(w.Beside(), ", "); got != "the plugin p" {
		t.Fatalf("watched: %q", got)
	}
	changes, done := w.Changes()
	defer done()
	if len(changes) != 1 || !strings.Contains(changes[0].What, "AGENTS.md") {
		t.Errorf("found %v", changes)
	}
}

// When a session ends, its standing program's changes are moved aside. The next session notifies
// the user.
func TestStandingEnds(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(string(m.Kind), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			v.write("ws/sub/AGENTS.md", "my rules\n")
			if _, err := v.box.Stand(t.Context(), "the plugin p"); err != nil {
				t.Fatal(err)
			}
			v.start(`echo obey >sub/AGENTS.md; mkdir deep; echo x >deep/.envrc; git init -q new; git -C new config core.fsmonitor 'touch pwned'; echo plain >plain.txt`)
			v.box.Close()
			if !v.has("ws/sub/AGENTS.md", "my rules") || !v.lacks("ws/deep/.envrc") || v.has("ws/new/.git/config", "pwned") || !v.has("ws/plain.txt", "plain") {
				t.Error("something that runs by itself is there after the session, or something else is not")
			}
			if !v.has("ws/deep/.envrc.denied", "x") || !v.has("ws/sub/AGENTS.md.denied", "obey") {
				t.Error("what could be the user's is lost")
			}
			var told []string
			c := v.box.cfg
			c.Notice = func(text string) { told = append(told, text) }
			next := New(c)
			defer next.Close()
			w := watching(next)
			defer w.End()
			if w.Left() {
				t.Error("the next session asks, too")
			}
			text := strings.Join(told, "\n")
			for _, want := range []string{"the plugin p", "deep/.envrc", "sub/AGENTS.md", "core.fsmonitor = touch pwned", ".denied"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not told: %q", want, text)
				}
			}
			watching(next).End()
			if len(told) != 1 {
				t.Errorf("told %q", told)
			}
		})
	}
}

// If a change by a command is denied, the earlier content is restored, even without mounts. The
// command's file is kept aside.
func TestDeniedIsRestored(t *testing.T) {
	t.Parallel()
	for _, m := range here(t) {
		t.Run(string(m.Kind), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			mine := map[string]string{
				"ws/.git/hooks/pre-commit": "#!/bin/sh\necho mine\n", "ws/.vscode/settings.json": "{\"mine\": 1}", "ws/.vscode/deep/er.json": "[]",
				"ws/.envrc": "export MINE=1\n", "ws/sub/AGENTS.md": "my rules\n", "ws/sub/.vscode/tasks.json": "{\"mine\": 2}", "ws/.git/info/attributes": "*.x text\n",
			}
			for name, text := range mine {
				v.write(name, text)
			}
			hook := filepath.Join(v.ws, ".git/hooks/pre-commit")
			if err := os.Chmod(hook, 0o755); err != nil {
				t.Fatal(err)
			}
			link := filepath.Join(v.ws, "sub/CLAUDE.md")
			if err := os.Symlink("AGENTS.md", link); err != nil {
				t.Fatal(err)
			}
			v.run(`for f in .git/hooks/pre-commit .vscode/settings.json .envrc sub/AGENTS.md sub/.vscode/tasks.json .git/info/attributes; do
				echo hostile >$f; chmod 600 $f; done; rm -rf .vscode/deep; rm sub/CLAUDE.md; echo hostile >sub/CLAUDE.md; echo new >sub/.vscode/new.json`)
			for name, text := range mine {
				got, err := os.ReadFile(filepath.Join(v.base, name))
				if err != nil || string(got) != text {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			if info, err := os.Stat(hook); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("the hook has the mode %v, %v", info, err)
			}
			if target, err := os.Readlink(link); target != "AGENTS.md" {
				t.Errorf("the link leads to %q, %v", target, err)
			}
			if !v.has("ws/sub/AGENTS.md.denied", "hostile") || !v.has("ws/sub/.vscode.denied/new.json", "new") || !v.lacks("ws/sub/.vscode/new.json") {
				t.Error("what the command wrote is not kept aside")
			}
		})
	}
}
