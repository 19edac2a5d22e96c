// Package nvim_test compares the plugin's subcommands with the command table.
package nvim_test

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// subcommand is one entry of M.sub in commands.lua.
var subcommand = regexp.MustCompile(`(?m)^  (\w+) = \{(?:\n   )? description = "([^"]+)",`)

// TestSubcommands compares the subcommands of :Hermes and their descriptions with the command
// table, and wants each in the help.
func TestSubcommands(t *testing.T) {
	t.Parallel()
	svc := app.New(server.Options{Home: t.TempDir(), Environ: []string{}})
	t.Cleanup(func() { _ = svc.Close() })
	want := map[string]string{}
	for _, c := range svc.CommandTable() {
		if c.Neovim != "" {
			want[c.Neovim] = c.Description
		}
	}
	_, sub, _ := strings.Cut(text(t, "lua/hermes/commands.lua"), "\nM.sub = {\n")
	sub, _, found := strings.Cut(sub, "\n}\n")
	got := map[string]string{}
	for _, m := range subcommand.FindAllStringSubmatch(sub, -1) {
		got[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+) = "([^"]+)",$`).FindAllStringSubmatch(text(t, "lua/hermes/slash.lua"), -1) {
		got[m[1]] = m[2]
	}
	if !found || len(want) < 20 || !maps.Equal(got, want) {
		t.Errorf("commands.lua has\n%v, the table has\n%v", got, want)
	}
	help := text(t, "doc/hermes.txt")
	for name := range want {
		if !strings.Contains(help, "*:Hermes-"+name+"*") {
			t.Errorf("doc/hermes.txt does not describe :Hermes %s", name)
		}
	}
}

// TestMappings wants a subcommand for each <Plug> mapping.
func TestMappings(t *testing.T) {
	t.Parallel()
	_, list, _ := strings.Cut(text(t, "plugin/hermes.lua"), "in ipairs({")
	list, _, found := strings.Cut(list, "})")
	names := regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(list, -1)
	if !found || len(names) < 10 {
		t.Fatal("plugin/hermes.lua has no list of mappings")
	}
	commands := text(t, "lua/hermes/commands.lua")
	for _, m := range names {
		if !strings.Contains(commands, "\n  "+m[1]+" = {") {
			t.Errorf("<Plug>(hermes-%s) has no subcommand", m[1])
		}
	}
}

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}
