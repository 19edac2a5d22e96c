package app_test

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// TestCommandTable wants each row to have a description and a face, each name once on its
// face, each slash command of the table to run in a
// session, and docs/commands.md to describe all that run in every editor.
func TestCommandTable(t *testing.T) {
	t.Parallel()
	svc := app.New(server.Options{Home: t.TempDir(), Environ: []string{}, Static: true})
	t.Cleanup(func() { _ = svc.Close() })
	table := svc.CommandTable()
	seen := map[[2]string]bool{}
	var slash []string
	for _, c := range table {
		names := [][2]string{{"slash", c.Name}, {"execute", c.Execute}, {"VS Code", c.VSCode}, {"Neovim", c.Neovim}}
		names = slices.DeleteFunc(names, func(n [2]string) bool { return n[1] == "" })
		if len(names) == 0 || c.Description == "" || (c.VSCode == "") != (c.Title == "") {
			t.Errorf("%+v lacks a name, a description, or the title of the palette", c)
		}
		for _, n := range names {
			if seen[n] {
				t.Errorf("%s: %q is there twice", n[0], n[1])
			}
			seen[n] = true
		}
		if c.Name != "" {
			slash = append(slash, c.Name)
		}
	}
	if !slices.IsSortedFunc(table, func(a, b extension.Command) int { return cmp.Compare(a.Order, b.Order) }) {
		t.Error("the table is not in order")
	}

	x, err := svc.NewSession(t.Context(), server.Place{Cwd: t.TempDir(), Preset: "acp"}, bare{})
	if err != nil {
		t.Fatal(err)
	}
	var run []string
	for _, c := range x.Commands() {
		if c.Order >= skills.SkillOrder {
			continue // of one session
		}
		run = append(run, c.Name)
	}
	doc, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range table {
		if c.Execute != "" && !strings.Contains(string(doc), "`"+c.Execute+"`") {
			t.Errorf("docs/commands.md does not describe %s", c.Execute)
		}
		usage := "`/" + c.Name + "`"
		if c.Hint != "" {
			usage = "`/" + c.Name + " [" + c.Hint + "]`"
		}
		if row := "| " + usage + " | " + c.Description + " |\n"; c.Name != "" && !strings.Contains(string(doc), row) {
			t.Errorf("docs/commands.md lacks the row\n%s", row)
		}
	}
	if !slices.Equal(run, slash) {
		t.Errorf("the session runs %q, the table has %q", run, slash)
	}
}

// bare is a host that has nothing.
type bare struct{}

func (bare) Documents(string) workspace.Documents { return nil }
func (bare) Terminals(string) shell.Terminals     { return nil }
func (bare) Sink(string) agent.Sink               { return bare{} }
func (bare) Event(agent.Event)                    {}

func (bare) AskPermission(context.Context, tools.Question) (tools.Decision, error) {
	return tools.DecisionDeny, nil
}
