package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// The user's manner and the project's notes are in the prompt; those of a folder come
// with the first result from below it, and once.
func TestNotes(t *testing.T) {
	t.Parallel()
	home, cwd := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(home, "SOUL.md"):         "Speak like a pirate.",
		filepath.Join(home, "config.yaml"):     "agent:\n  personality: terse\n  personalities:\n    terse: Use few words.\n",
		filepath.Join(cwd, "AGENTS.md"):        "Root rules.",
		filepath.Join(cwd, ".hermes.md"):       "Ours.",
		filepath.Join(cwd, "a", "AGENTS.md"):   "Rules <of> a.",
		filepath.Join(cwd, "a/b", "CLAUDE.md"): "Rules of b.",
		filepath.Join(cwd, "a/b", "x.go"):      "package b\n",
		filepath.Join(cwd, "a/b", "y.go"):      "package b\n",
		filepath.Join(cwd, "main.go"):          "package main\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) { x.Call("", "read_file", `{"path":"`+path+`"}`); x.End() }
	}
	m := fakemodel.Script(read("main.go"), read("a/b/x.go"), read("a/b/y.go"), read("a/AGENTS.md"), answer("done"))
	s := open(t, Options{Home: home, Model: m})
	x, _ := session(t, s, cwd)
	prompt1(t, x, "go")

	requests := m.Requests()
	for _, want := range []string{"Speak like a pirate.\n\nUse few words.", "Root rules.", "Ours."} {
		if !strings.Contains(requests[0].System, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	if strings.Contains(requests[0].System, "of b") {
		t.Error("the prompt has the notes of a folder below")
	}
	var results []string
	for _, message := range requests[len(requests)-1].Messages {
		if message.CallID() != "" {
			results = append(results, message.Text())
		}
	}
	if want := `"folders":[{"path":"a/AGENTS.md","notes":"Rules <of> a."},{"path":"a/b/CLAUDE.md","notes":"Rules of b."}]}}`; !strings.HasSuffix(results[1], want) {
		t.Errorf("the first file below: %s", results[1])
	}
	for _, i := range []int{0, 2, 3} {
		if strings.Contains(results[i], "project_notes") {
			t.Errorf("result %d: %s", i+1, results[i])
		}
	}
}
