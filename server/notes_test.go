package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// instructed makes a git repository with files, and returns the directories of the home and of
// the workspace in it.
func instructed(t *testing.T, workspace string, files map[string]string) (home, cwd string) {
	t.Helper()
	home, top := t.TempDir(), t.TempDir()
	if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "git", "init", "-q", top).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, text := range files {
		path := filepath.Join(top, name)
		if strings.HasPrefix(name, "home/") {
			path = filepath.Join(home, strings.TrimPrefix(name, "home/"))
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, filepath.Join(top, workspace)
}

// calls answers with calls, given as name and arguments.
func calls(all ...string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) {
		for i := 0; i < len(all); i += 2 {
			x.Call("", all[i], all[i+1])
		}
		x.End()
	}
}

func resultsOf(m *fakemodel.Model) (results []string) {
	requests := m.Requests()
	for _, message := range requests[len(requests)-1].Messages {
		if message.CallID() != "" {
			results = append(results, message.Text())
		}
	}
	return results
}

// TestInstructions checks the instructions in the system prompt: the persona, and the files from
// the workspace folder up to the top of the repository. Links must not lead elsewhere.
func TestInstructions(t *testing.T) {
	t.Parallel()
	home, cwd := instructed(t, "shop/web", map[string]string{
		"home/SOUL.md":       "Speak like a pirate.",
		"home/config.yaml":   "agent:\n  personality: terse\n  personalities:\n    terse: Use few words.\n",
		"AGENTS.md":          "Top rules.",
		"CLAUDE.md":          "-> AGENTS.md",
		"secret.env":         "top-secret",
		".hermes.md":         "-> secret.env",
		"shop/AGENTS.md":     "-> /etc/hostname",
		"shop/web/CLAUDE.md": "Web rules.",
		"shop/web/.github/copilot-instructions.md": "Copilot rules.",
		"shop/web/.env":           "web-secret",
		"shop/web/AGENTS.md":      "-> .env",
		"shop/web/deep/AGENTS.md": "Deep rules.",
	})
	m := fakemodel.Script(answer("done"))
	x, _ := session(t, open(t, Options{Home: home, Model: m}), cwd)
	prompt1(t, x, "go")
	system := m.Requests()[0].System
	rest := system
	for _, want := range []string{"Speak like a pirate.\n\nUse few words.", "# Project instructions", "Top rules.", "Copilot rules.", "Web rules."} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("the prompt lacks %q, or it is in the wrong order:\n%s", want, system)
		}
		rest = after
	}
	for _, no := range []string{"top-secret", "web-secret", "Deep rules", "/etc/hostname"} {
		if strings.Contains(system, no) {
			t.Errorf("the prompt has %q", no)
		}
	}
	if strings.Count(system, "Top rules.") != 1 {
		t.Error("the same text is there twice")
	}
}

// TestInstructionsBelow checks that the instructions of a directory come once, with the first
// result from below it.
func TestInstructionsBelow(t *testing.T) {
	t.Parallel()
	home, cwd := instructed(t, "", map[string]string{
		"a/AGENTS.md": "Rules <of> a.", "a/b/CLAUDE.md": "Rules of b.",
		"a/b/x.go": "package b\n", "a/b/y.go": "package b\n", "main.go": "package main\n",
	})
	m := fakemodel.Script(
		calls("read_file", `{"path":"main.go"}`), calls("read_file", `{"path":"a/b/x.go"}`), calls("read_file", `{"path":"a/b/y.go"}`),
		calls("read_file", `{"path":"a/AGENTS.md"}`), calls("write_file", `{"path":"a/b/z.go","content":"package b\n"}`), answer("done"),
	)
	x, _ := session(t, open(t, Options{Home: home, Model: m}), cwd)
	prompt1(t, x, "go")
	results := resultsOf(m)
	for i, has := range []bool{false, true, false, false, false} {
		for _, text := range []string{"Rules <of> a.", "Rules of b."} {
			if strings.Contains(results[i], `"project_instructions":`) != has || i != 3 && strings.Contains(results[i], text) != has {
				t.Errorf("result %d: %s", i+1, results[i])
			}
		}
	}
	if _, err := os.Stat(filepath.Join(cwd, "a/b/z.go")); err != nil {
		t.Error(err)
	}
}

// TestInstructionsWithCommands checks that the instructions of a directory come once, with a
// command that names it. An instructions file must not come again after a tool has read it.
func TestInstructionsWithCommands(t *testing.T) {
	t.Parallel()
	forms := []string{
		"cat DIR/f.txt", "cd DIR && cat f.txt && cd ..", "(cd DIR; ls)", "git -C DIR status", "make -C DIR", "head -1 <DIR/f.txt", "cat \"$PWD/DIR/f.txt\"",
		"bash -c 'cd DIR && cat f.txt'", "cat DIR/*.txt", "python3 -c \"print(open('DIR/f.txt').read())\"", "ls ./DIR", "grep -rn x DIR/", "touch DIR/new.txt",
	}
	files := map[string]string{"last/AGENTS.md": "Rules of the last directory.", "last/f.txt": "x\n", "read/AGENTS.md": "Rules that are read as a file.\nMore of them.", "shown/AGENTS.md": "Rules that a command shows.\n"}
	var steps []func(*fakemodel.Exchange)
	command := func(text string) {
		args, _ := json.Marshal(map[string]string{"command": text})
		steps = append(steps, calls("terminal", string(args)))
	}
	for i, form := range forms {
		dir := fmt.Sprintf("d%d", i)
		files[dir+"/AGENTS.md"], files[dir+"/f.txt"] = "Rules of "+dir+".", "x\n"
		command(strings.ReplaceAll(form, "DIR", dir))
		command(strings.ReplaceAll(form, "DIR", dir))
	}
	command("cd last")
	command("cat f.txt")
	steps = append(steps, calls("read_file", `{"path":"read/AGENTS.md"}`))
	command("cat ../shown/AGENTS.md")
	home, cwd := instructed(t, "", files)
	m := fakemodel.Script(append(steps, answer("done"))...)
	x, _ := session(t, open(t, Options{Home: home, Model: m}), cwd)
	prompt1(t, x, "go")
	results := resultsOf(m)
	for i, form := range forms {
		for again, has := range []bool{true, false} {
			if got := results[2*i+again]; strings.Count(got, fmt.Sprintf("Rules of d%d.", i)) != map[bool]int{true: 1}[has] || strings.Contains(got, "project_instructions") != has {
				t.Errorf("%s (%v): %s", form, has, got)
			}
		}
	}
	rest := results[2*len(forms):]
	for i, want := range []string{"Rules of the last directory.", "", "Rules that are read as a file.", "Rules that a command shows."} {
		if want == "" && strings.Contains(rest[i], "project_instructions") || want != "" && (strings.Count(rest[i], want) != 1 || !strings.Contains(rest[i], "project_instructions")) {
			t.Errorf("%q: %s", want, rest[i])
		}
	}
}

// TestInstructionsThatOthersBrought checks the files of other agents, the user's own, imports,
// encodings, and the notices about unreadable files.
func TestInstructionsThatOthersBrought(t *testing.T) {
	t.Parallel()
	home, cwd := instructed(t, "", map[string]string{
		"home/AGENTS.md":     "Rules of the user.",
		".claude/CLAUDE.md":  "Claude's rules. @../docs/more.txt\n@gone.md @../.env @../../out.md",
		"docs/more.txt":      "Imported rules.",
		".env":               "SECRET=1",
		"CLAUDE.local.md":    "\xff\xfeL\x00o\x00c\x00a\x00l\x00 \x00r\x00u\x00l\x00e\x00s\x00.\x00",
		"AGENTS.md":          "Not these rules.",
		"AGENTS.override.md": "Rules instead.",
		".hermes.md":         "first\n\xd3\xf6\xdc\xeb\xec\xe1 \xf3\xf4\xef \xe1\xf1\xf7\xe5\xdf\xef \xf1\xf5\xe8\xec\xdf\xf3\xe5\xf9\xed, \xe5\xeb\xdd\xe3\xee\xf4\xe5 \xf4\xe7 \xe4\xe9\xe1\xe4\xf1\xef\xec\xde\n",
		"sub/CLAUDE.md":      "Rules below. @x.md",
		"sub/x.md":           "Imported below.",
		"sub/f.txt":          "x",
	})
	m := fakemodel.Script(calls("read_file", `{"path":"sub/f.txt"}`), answer("done"))
	x, user := session(t, open(t, Options{Home: home, Model: m}), cwd)
	prompt1(t, x, "go")
	system := m.Requests()[0].System
	rest := system
	for _, want := range []string{"# Project instructions", "Imported rules.", "Claude's rules.", "Local rules.", "Rules instead.", "# Instructions of the user for all projects", "rank 1", "Rules of the user."} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("the prompt lacks %q, or it is in the wrong order:\n%s", want, system)
		}
		rest = after
	}
	for _, no := range []string{"SECRET", "Not these rules.", "\uFFFD", "\x00"} {
		if strings.Contains(system, no) {
			t.Errorf("the prompt has %q", no)
		}
	}
	if got := resultsOf(m)[0]; !strings.Contains(got, "Rules below.") || !strings.Contains(got, "Imported below.") {
		t.Errorf("the result lacks the instructions: %s", got)
	}
	told := strings.Join(user.notices(), "\n")
	for _, want := range []string{".claude/CLAUDE.md:2: the import @gone.md is not read: there is no such file", "@../.env is not read: it is a place of secrets", "@../../out.md is not read: it is outside the workspace", ".hermes.md:2: the instructions are not read: its encoding is not known"} {
		if strings.Count(told, want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, told)
		}
	}
}

// TestInstructionsBeforeEdit checks that no edit below a directory runs before the model has its
// instructions. An edit fails in a response written without them.
func TestInstructionsBeforeEdit(t *testing.T) {
	t.Parallel()
	const patch = `{"mode":"patch","patch":"*** Begin Patch\n*** Update File: c/x.go\n-package c\n+package d\n*** End Patch\n"}`
	home, cwd := instructed(t, "", map[string]string{
		"a/AGENTS.md": "Rules of a.", "b/AGENTS.md": "Rules of b.", "c/AGENTS.md": "Rules of c.",
		"b/x.go": "package b\n", "c/x.go": "package c\n",
	})
	m := fakemodel.Script(
		calls("write_file", `{"path":"a/x.go","content":"package a\n"}`, "write_file", `{"path":"a/y.go","content":"package a\n"}`, "write_file", `{"path":"z.go","content":"package z\n"}`),
		calls("read_file", `{"path":"b/x.go"}`, "patch", `{"path":"b/x.go","old_string":"package b","new_string":"package c"}`, "patch", patch),
		calls("write_file", `{"path":"a/x.go","content":"package a\n"}`, "patch", `{"path":"b/x.go","old_string":"package b","new_string":"package c"}`, "patch", patch),
		answer("done"),
	)
	x, _ := session(t, open(t, Options{Home: home, Model: m}), cwd)
	prompt1(t, x, "go")
	for i, want := range []string{
		`Nothing was changed. Project instructions apply`, `Nothing was changed. The project instructions in an earlier result`, `"bytes_written"`,
		"Rules of b.", `Nothing was changed. The project instructions in an earlier result`, "Rules of c.",
		`"bytes_written"`, `"changed":[{"path":"b/x.go"`, `"changed":[{"path":"c/x.go"`,
	} {
		if got := resultsOf(m)[i]; !strings.Contains(got, want) {
			t.Errorf("result %d is %s\nwant %s", i+1, got, want)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(cwd, "c/x.go")); string(text) != "package d\n" {
		t.Errorf("c/x.go has %q", text)
	}
}

// TestInstructionsOfScript checks that a script cannot edit below a directory before the model has
// its instructions. These come with the result of the script.
func TestInstructionsOfScript(t *testing.T) {
	t.Parallel()
	home, cwd := instructed(t, "", map[string]string{"a/AGENTS.md": "Rules of a.", "b/AGENTS.md": "Rules of b.", "c/AGENTS.md": "Rules of c.", "b/x.go": "package b\n"})
	const script = `{"code":"from hermes_tools import read_file, write_file\nread_file('b/x.go')\nfor p in 'a/x.go', 'a/y.go', 'b/x.go', 'z.go': print(write_file(p, 'package x\\n'))"}`
	m := fakemodel.Script(
		calls("execute_code", script), calls("execute_code", script),
		calls("execute_code", `{"code":"from hermes_tools import read_file\nread_file('c/AGENTS.md')"}`), answer("done"),
	)
	x, _ := session(t, open(t, Options{Home: home, Model: m}), cwd)
	prompt1(t, x, "go")
	results := resultsOf(m)
	if strings.Count(results[0], "bytes_written") != 1 || strings.Count(results[0], "Nothing was changed") != 3 {
		t.Errorf("the script: %s", results[0])
	}
	for _, want := range []string{"Rules of a.", "Rules of b.", "were rejected"} {
		if !strings.Contains(results[0], want) {
			t.Errorf("the script: %q is missing in %s", want, results[0])
		}
	}
	if strings.Count(results[1], "bytes_written") != 4 || strings.Contains(results[1], "Rules of") {
		t.Errorf("the same script again: %s", results[1])
	}
	if !strings.Contains(results[2], "Rules of c.") || strings.Contains(results[2], "were rejected") {
		t.Errorf("a script that reads: %s", results[2])
	}
}

// TestInstructionsOnAnotherMachine checks a session with commands over ssh: it gets the
// instructions there, up to the top of the repository, and none of this machine.
func TestInstructionsOnAnotherMachine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the test starts an ssh server")
	}
	home, cwd := instructed(t, "", map[string]string{"AGENTS.md": "Rules here.", "a/AGENTS.md": "Rules of a here.", "a/x.go": "package a\n"})
	_, there := instructed(t, "shop", map[string]string{
		"AGENTS.md": "Top rules there.", "shop/AGENTS.md": "Rules there.", "shop/a/AGENTS.md": "Rules of a there.",
		"secret.env": "top-secret", "CLAUDE.md": "-> secret.env", "shop/CLAUDE.md": "-> /etc/hostname",
	})
	ssh := toolstest.SSHD(t)
	write(t, config.Path(home), fmt.Sprintf("terminal: {backend: ssh, ssh_host: %s, ssh_port: %d, ssh_key: %q, ssh_options: %s, cwd: %q}\n",
		ssh.Host, ssh.Port, ssh.Key, dump(ssh.Options), there))
	m := fakemodel.Script(
		calls("write_file", `{"path":"a/x.go","content":"package b\n"}`), calls("write_file", `{"path":"a/x.go","content":"package b\n"}`), answer("done"),
	)
	x, g := session(t, open(t, Options{Home: home, Model: m}), cwd)
	prompt1(t, x, "go")
	system := m.Requests()[0].System
	_, rest, found := strings.Cut(system, "Top rules there.")
	if !found || !strings.Contains(rest, "Rules there.") || strings.Contains(system, " here.") || strings.Contains(system, "top-secret") {
		t.Errorf("the prompt is\n%s\ntold %q", system, g.notices())
	}
	results := resultsOf(m)
	if !strings.Contains(results[0], "Nothing was changed.") || !strings.Contains(results[0], "Rules of a there.") || !strings.Contains(results[1], `"bytes_written"`) {
		t.Errorf("the edit: %s", results)
	}
	if text, _ := os.ReadFile(filepath.Join(there, "a/x.go")); string(text) != "package b\n" {
		t.Errorf("a/x.go there has %q", text)
	}
}
