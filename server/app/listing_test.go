package app_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/listing"
)

// TestListing lists the extensions of a session, and returns the commands' files.
func TestListing(t *testing.T) {
	t.Parallel()
	home, folder := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(home, "config.yaml"):                 "mcp_servers: {gone: {command: no-such-program}}\nhooks: {pre_tool_call: [{command: no-such-hook}]}\n",
		filepath.Join(home, "skills/deploy/SKILL.md"):      "---\nname: deploy\ndescription: Deploys.\n---\nRun it.\n",
		filepath.Join(home, "memories/USER.md"):            "Prefers tabs.\n",
		filepath.Join(home, "commands/hello.md"):           "---\ndescription: Greets.\n---\nHello\n",
		filepath.Join(home, "agents/tester.md"):            "---\nname: tester\ndescription: Tests.\n---\nTest.\n",
		filepath.Join(folder, ".mcp.json"):                 `{"mcpServers":{"db":{"command":"db"}}}`,
		filepath.Join(folder, ".hermes/skills/x/SKILL.md"): "---\nname: x\ndescription: Of the folder.\n---\nX\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	svc := app.New(server.Options{Home: home, Environ: []string{}, Static: true})
	t.Cleanup(func() { _ = svc.Close() })
	x, err := svc.NewSession(t.Context(), server.Place{Cwd: folder, Preset: "acp"}, bare{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := listing.List(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	skill := map[string]string{}
	for _, s := range r.Skills {
		skill[s.Name] = s.Place
	}
	state := map[string]string{}
	for _, s := range r.MCP {
		state[s.Name] = s.State
	}
	switch {
	case skill["deploy"] != "user" || skill["debug"] != "bundled" || skill["x"] != "":
		t.Errorf("skills: %v", skill)
	case state["gone"] == "" || state["db"] != "not approved":
		t.Errorf("servers: %v", state)
	case len(r.Hooks) != 1 || r.Hooks[0].Event != "pre_tool_call" || r.Hooks[0].Error == "":
		t.Errorf("hooks: %+v", r.Hooks)
	case len(r.Commands) != 1 || r.Commands[0].Name != "hello" || len(r.Agents) != 1 || r.Agents[0].Name != "tester":
		t.Errorf("commands and agents: %+v %+v", r.Commands, r.Agents)
	case len(r.Memory) != 3 || r.Memory[0].Target != "user" || len(r.Memory[0].Entries) != 1:
		t.Errorf("memory: %+v", r.Memory)
	case r.Trusted || len(r.Offered) != 1 || len(r.Offered[0].Skills) != 1 || len(r.Offered[0].Servers) != 1:
		t.Errorf("offered: %v %+v", r.Trusted, r.Offered)
	case r.Learnings == nil || r.Plugins == nil:
		t.Error("an empty list is null")
	}
	for _, c := range []struct{ command, name, text string }{
		{protocol.CommandSkillOpen, "deploy", "Run it."},
		{protocol.CommandSkillOpen, "debug", "name: debug"},
		{protocol.CommandSkillOpen, "debug", "name: debug"}, // again, over the read-only copy
		{protocol.CommandMemoryOpen, "user", "Prefers tabs."},
		{protocol.CommandMemoryOpen, "project", ""},
		{protocol.CommandLearningsOpen, "", "There are no learnings."},
	} {
		path, err := listing.Document(t.Context(), x, c.command, c.name)
		if err != nil {
			t.Errorf("%s %s: %v", c.command, c.name, err)
			continue
		}
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), c.text) {
			t.Errorf("%s %s: %v, %q", c.command, c.name, err, text)
		}
	}
	for _, c := range [][2]string{{protocol.CommandSkillOpen, "none"}, {protocol.CommandMemoryOpen, "none"}, {"hermes.other.open", ""}} {
		if path, err := listing.Document(t.Context(), x, c[0], c[1]); err == nil {
			t.Errorf("%v opens %s", c, path)
		}
	}
}

// TestTrustFolders uses nothing of a trusted folder if skills.trust_folders is off, as in Restricted Mode of VS Code.
func TestTrustFolders(t *testing.T) {
	t.Parallel()
	home, folder := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(folder, ".mcp.json"):                 `{"mcpServers":{"db":{"command":"db"}}}`,
		filepath.Join(folder, ".hermes/skills/x/SKILL.md"): "---\nname: x\ndescription: Of the folder.\n---\nX\n",
		filepath.Join(folder, ".hermes/commands/y.md"):     "---\ndescription: Y.\n---\nY\n",
		filepath.Join(folder, ".hermes/agents/z.md"):       "---\nname: z\ndescription: Z.\n---\nZ\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := trust.Open(home)
	if _, err := store.Trust(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	for _, s := range trust.Servers(folder) {
		if err := store.Approve(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for _, on := range []bool{true, false} {
		svc := app.New(server.Options{Home: home, Environ: []string{}, Static: true})
		t.Cleanup(func() { _ = svc.Close() })
		svc.SetInit(json.RawMessage(fmt.Sprintf(`{"skills":{"trust_folders":%v}}`, on)))
		x, err := svc.NewSession(t.Context(), server.Place{Cwd: folder, Preset: "acp"}, bare{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := listing.List(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		skill := slices.ContainsFunc(r.Skills, func(s protocol.SkillState) bool { return s.Name == "x" })
		server := slices.ContainsFunc(r.MCP, func(s protocol.MCPServerState) bool { return s.Name == "db" && s.State != "not approved" })
		if skill != on || server != on || len(r.Commands) == 1 != on || len(r.Agents) == 1 != on || r.Trusted != on || len(r.Offered) != 1 || r.Offered[0].Trusted != on {
			t.Errorf("trust_folders %v: skill %v, server %v, %+v", on, skill, server, r)
		}
	}
}
