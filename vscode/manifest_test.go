// Package vscode_test compares the extension's manifest with its sources: the keys of config.yaml,
// the command table, and the commands it declares itself.
package vscode_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

type manifest struct {
	Contributes struct {
		Commands      []struct{ Command, Category, Title string }
		Menus         map[string][]struct{ Command, Submenu string }
		Keybindings   []struct{ Command string }
		Configuration []struct {
			Properties map[string]setting
		}
	}
}

type setting struct {
	Type                string
	Default             any
	Enum                []any
	EnumDescriptions    []string
	Scope               string
	MarkdownDescription string
}

// own are the settings of the extension alone.
var own = []string{"path", "progress", "saveEdits", "codeLens"}

func read(t *testing.T) manifest {
	t.Helper()
	text, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// schema is the schema of a key of config.yaml.
type schema struct {
	Type       string
	Default    any
	Enum       []any
	Properties map[string]schema
}

func TestSettings(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(app.Config().JSON())
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, section := range read(t).Contributes.Configuration {
		for name, s := range section.Properties {
			key := strings.TrimPrefix(name, "hermes.")
			if s.MarkdownDescription == "" {
				t.Errorf("%s has no description", name)
			}
			if len(s.Enum) != len(s.EnumDescriptions) {
				t.Errorf("%s: %d values, %d descriptions of them", name, len(s.Enum), len(s.EnumDescriptions))
			}
			if slices.Contains(own, key) {
				continue
			}
			seen++
			t.Run(key, func(t *testing.T) { checkSetting(t, key, s, find(root, key)) })
		}
	}
	if seen < 30 {
		t.Errorf("only %d settings were compared", seen)
	}
}

func find(s schema, key string) *schema {
	for part := range strings.SplitSeq(key, ".") {
		next, ok := s.Properties[part]
		if !ok {
			return nil
		}
		s = next
	}
	return &s
}

func checkSetting(t *testing.T, key string, s setting, want *schema) {
	t.Helper()
	if want == nil {
		t.Fatal("is no key of config.yaml")
	}
	if s.Type != want.Type {
		t.Errorf("type = %s, want %s", s.Type, want.Type)
	}
	if want.Default != nil && !reflect.DeepEqual(s.Default, want.Default) {
		t.Errorf("default = %v, want %v", s.Default, want.Default)
	}
	for _, v := range s.Enum {
		if !slices.Contains(want.Enum, v) {
			t.Errorf("%v is none of its values %v", v, want.Enum)
		}
	}
	// If a repository may not set a setting, its scope is outside of workspace settings.
	if harmless := mayRepositorySet(t, key, s); harmless == (s.Scope == "application") {
		t.Errorf("scope = %s, and a repository may set it: %v", s.Scope, harmless)
	}
}

// mayRepositorySet asks the configuration itself.
func mayRepositorySet(t *testing.T, key string, s setting) bool {
	t.Helper()
	value := s.Default
	if len(s.Enum) > 0 {
		value = s.Enum[0]
	}
	editor, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		t.Fatal(err)
	}
	return len(app.Config().Load(t.TempDir(), config.Options{Editor: editor}).Problems) == 0
}

// TestPalette compares the commands and their titles with the command table.
func TestPalette(t *testing.T) {
	t.Parallel()
	svc := app.New(server.Options{Home: t.TempDir(), Environ: []string{}})
	t.Cleanup(func() { _ = svc.Close() })
	want := map[string]string{}
	for _, c := range svc.CommandTable() {
		if c.VSCode != "" {
			want[c.VSCode] = c.Title
		}
	}
	got := map[string]string{}
	for _, c := range read(t).Contributes.Commands {
		got[c.Command] = c.Title
		if c.Category != "Hermes" {
			t.Errorf("%s has the category %q", c.Command, c.Category)
		}
	}
	if len(want) < 30 || !maps.Equal(got, want) {
		t.Errorf("package.json has\n%v, the table has\n%v", got, want)
	}
}

// TestPage requires docs/vscode.md to list each command, and each setting of the extension alone.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/vscode.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := read(t).Contributes.Commands
	if len(commands) < 30 {
		t.Errorf("only %d commands", len(commands))
	}
	for _, c := range commands {
		if !strings.Contains(string(page), c.Title) {
			t.Errorf("docs/vscode.md does not have the command %s", c.Title)
		}
	}
	for _, key := range own {
		if !strings.Contains(string(page), "`hermes."+key) {
			t.Errorf("docs/vscode.md does not have the setting hermes.%s", key)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	m := read(t)
	declared := map[string]bool{}
	for _, c := range m.Contributes.Commands {
		declared[c.Command] = true
	}
	for menu, items := range m.Contributes.Menus {
		for _, item := range items {
			if item.Submenu == "" && !declared[item.Command] {
				t.Errorf("menu %s has %s, which is no command", menu, item.Command)
			}
		}
	}
	for _, k := range m.Contributes.Keybindings {
		if strings.HasPrefix(k.Command, "hermes.") && !declared[k.Command] {
			t.Errorf("a key runs %s, which is no command", k.Command)
		}
	}
	runs := registered(t)
	for name := range declared {
		if !strings.Contains(runs, `"`+name+`"`) {
			t.Errorf("%s is declared, and nothing runs it", name)
		}
	}
}

var word = regexp.MustCompile(`(?m)^  (\w+): ("hermes\.[^"]+"),$`)

// registered returns the source for registering commands, with names from the protocol and from
// prefixes written out.
func registered(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, file := range []string{"src/commands/ask.ts", "src/commands/extend.ts", "src/commands/server.ts", "src/commands/sessions.ts", "src/commands/setup.ts", "src/extensiontree.ts", "src/sessiontree.ts", "src/review/register.ts", "src/shared/slashcommands.ts"} {
		all.WriteString(source(t, file))
	}
	text := strings.ReplaceAll(all.String(), `on("`, `"hermes.changes.`)
	for _, m := range word.FindAllStringSubmatch(source(t, "src/protocol.ts"), -1) {
		for _, register := range []string{"command(", "act("} {
			text = strings.ReplaceAll(text, register+"Command."+m[1]+",", register+m[2])
		}
	}
	return text
}

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
