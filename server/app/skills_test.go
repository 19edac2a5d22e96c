package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// A skill is in the index if the session has the skill's required tools, and none of the tools it
// replaces.
func TestSkillsByTools(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{
		"requires_tools: [terminal, read_file, skill_view, todo]": true,
		"requires_tools: [send_message]":                          false,
		"requires_tools: [terminal, send_message]":                false,
		"requires_tools: [mcp__db__query]":                        true, // the server may connect later
		"requires_toolsets: [terminal, file]":                     true,
		"requires_toolsets: [terminal_tools]":                     true,
		"requires_toolsets: [messaging]":                          false,
		"requires_toolsets: [memory]":                             false, // it is disabled
		"fallback_for_tools: [terminal]":                          false,
		"fallback_for_tools: [send_message]":                      true,
		"fallback_for_toolsets: [file]":                           false,
		"fallback_for_toolsets: [messaging]":                      true,
		"fallback_for_toolsets: [memory]":                         true,
		"tags: [a]":                                               true,
	}
	home := t.TempDir()
	settings := "skills: {bundled: false}\nagent: {tools: {disabled: [memory]}}\n"
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for field := range shown {
		name := strings.Trim(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' {
				return r
			}
			return '-'
		}, field), "-")
		names[field] = name
		dir := filepath.Join(home, "skills", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\ndescription: D\nmetadata: {hermes: {"+field+"}}\n---\nText.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := fakemodel.Func(func(x *fakemodel.Exchange) { x.Text("Done"); x.End() })
	svc := app.New(server.Options{Home: home, Environ: []string{}, Model: m})
	t.Cleanup(func() { _ = svc.Close() })
	x, err := svc.NewSession(t.Context(), server.Place{Cwd: t.TempDir()}, bare{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "hi"}, nil); err != nil {
		t.Fatal(err)
	}
	for field, want := range shown {
		if got := strings.Contains(m.Requests()[0].System, "- "+names[field]+": D"); got != want {
			t.Errorf("%s: in the index is %v", field, got)
		}
	}
}
