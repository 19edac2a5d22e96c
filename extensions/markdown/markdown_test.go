package markdown

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/trust"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	home, ws := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(ws, ".claude/commands/git/pr.md", "---\ndescription: Opens a pull request.\n---\nDo it.")
	write(home, "commands/plain.md", "# First line\nText.")
	write(home, "commands/git/pr.md", "hidden by the workspace")
	names := func() (all []string) {
		for _, f := range Find(home, trust.Open(home), []string{ws}, "commands", nil) {
			all = append(all, f.Name+": "+f.Description)
		}
		return all
	}
	if got := names(); !slices.Equal(got, []string{"git:pr: hidden by the workspace", "plain: First line"}) {
		t.Errorf("without trust: %q", got)
	}
	if _, err := trust.Open(home).Trust(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if got := names(); !slices.Equal(got, []string{"git:pr: Opens a pull request.", "plain: First line"}) {
		t.Errorf("with trust: %q", got)
	}
}

// Arguments are not expanded again.
func TestPrompt(t *testing.T) {
	t.Parallel()
	x := &Instance{sent: map[string][]string{}}
	for _, c := range []struct {
		body, args, want string
		commands         []string
	}{
		{"Fix $1 in $ARGUMENTS, $3.", "a b", "Fix a in a b, $3.", nil},
		{"Read @src/x.go and user@example.com.", "", "Read @file:src/x.go and user@example.com.", nil},
		{"State: !`git status $1`", "-s", "State: `git status -s` (its output follows)", []string{"git status -s"}},
		{"Say $ARGUMENTS", "!`rm x` @a.txt $1", "Say !`rm x` @a.txt $1", nil},
		{"No place.", "more", "No place.\n\nmore", nil},
		{"@../x and @/etc/passwd", "", "@../x and @/etc/passwd", nil},
	} {
		if got := x.prompt(File{Body: c.body}, c.args); got != c.want || !slices.Equal(x.sent[got], c.commands) {
			t.Errorf("%q with %q: %q, commands %q", c.body, c.args, got, x.sent[got])
		}
	}
}
