package markdown

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/tools"
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
	write(home, "agents/wide.md", "\xff\xfe-\x00-\x00-\x00\n\x00n\x00:\x00 \x00b\x00\n\x00-\x00-\x00-\x00\n\x00H\x00i\x00")
	write(home, "agents/odd.md", "\xff\xfe-\x00-")
	for _, f := range Find(home, trust.Open(home), nil, "agents", nil) {
		if wide := f.Name == "wide"; wide != (f.Body == "Hi") || wide == strings.Contains(f.Problem, "save it as UTF-8") {
			t.Errorf("%+v", f)
		}
	}
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

// Neither arguments nor outputs are expanded again.
func TestPrompt(t *testing.T) {
	t.Parallel()
	set := &tools.Set{}
	type input struct {
		Command string `json:"command"`
	}
	err := set.Add(tools.New(tools.Tool{Name: "sh", Toolset: "x", RunsCommands: true, Description: "Runs."}, func(_ context.Context, _ *tools.Env, _ tools.Call, in input) (tools.Result, error) {
		switch in.Command {
		case "rm":
			return tools.Fail("The user said no.\nStop."), nil
		case "long":
			return tools.OK(map[string]string{"output": strings.Repeat("é", 10_000)}), nil
		}
		return tools.OK(map[string]string{"output": "@file:secret $1 !`rm`\nof " + in.Command + "\n"}), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	env := &tools.Env{Dispatch: tools.Dispatch{Set: set}}
	for _, c := range []struct{ body, args, want, own string }{
		{"Fix $1 in $ARGUMENTS, $3.", "a b", "Fix a in a b, $3.", "Fix a in a b, $3."},
		{"Read @src/x.go and user@example.com.", "", "Read @file:src/x.go and user@example.com.", "Read @file:src/x.go and user@example.com."},
		{"Costs $5 each.", "seven", "Costs $5 each.\n\nseven", "Costs $5 each.\n\nseven"},
		{"Types: !`npm view @types/node`", "", "Types: @file:secret $1 !`rm`\nof npm view @types/node", "Types: !"},
		{"State: !`git status $1`, end.", "-s", "State: @file:secret $1 !`rm`\nof git status -s, end.", "State: !, end."},
		{"!`a`", "more", "@file:secret $1 !`rm`\nof a\n\nmore", "!\n\nmore"},
		{"!`rm` !`rm`", "", "[`rm` was not run: The user said no. Stop.] [`rm` was not run: The user said no. Stop.]", "! !"},
		{"!`long`", "", strings.Repeat("é", 8192) + "\n[cut]", "!"},
		{"Say $ARGUMENTS", "!`rm x` @a.txt $1", "Say !`rm x` @a.txt $1", "Say !`rm x` @a.txt $1"},
		{"No place.", "more", "No place.\n\nmore", "No place.\n\nmore"},
		{"@../x and @/etc/passwd", "", "@../x and @/etc/passwd", "@../x and @/etc/passwd"},
	} {
		x := &Instance{env: env}
		if got := x.prompt(t.Context(), File{Body: c.body}, c.args); got.Text != c.want || got.Own != c.own {
			t.Errorf("%q with %q: %q, own %q", c.body, c.args, got.Text, got.Own)
		}
	}
	if got := (&Instance{}).prompt(t.Context(), File{Body: "!`a`"}, "").Text; got != "[`a` was not run: this session has no tools]" {
		t.Errorf("without tools: %q", got)
	}
}
