package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestServers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home+"/.env", "TOKEN=from-dotenv\n")
	write(t, Path(home), `
mcp_servers:
  plain: {command: npx, args: [-y, "@scope/server", "--key=${TOKEN}"], env: {API_KEY: "${KEY}", COST: "5$"}}
  web: {url: "https://${HOST:-example.com}/mcp", headers: {Authorization: "Bearer ${TOKEN}"}, timeout: 5, tools: {exclude: [rm]}}
  off: {command: x, enabled: false}
  unset: {command: x, env: {A: "${NOBODY}"}}
  neither: {}
  both: {command: x, url: "http://y"}
  odd: {command: x, transport: sse}
  wrong: {comand: x}
`)
	l := Load(home, Options{Environ: []string{"KEY=from-environment"}, Folders: []string{t.TempDir()}})
	got, problems := l.Servers()
	want := map[string]MCPServer{
		"plain": {Enabled: true, Command: "npx", Args: []string{"-y", "@scope/server", "--key=from-dotenv"},
			Env: map[string]string{"API_KEY": "from-environment", "COST": "5$"}, Headers: map[string]string{}},
		"web": {Enabled: true, URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer from-dotenv"},
			Env: map[string]string{}, Timeout: 5, Tools: MCPTools{Exclude: []string{"rm"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("servers = %+v\nwant %+v", got, want)
	}
	for i, text := range []string{"both: it has a command and a url", "neither: it has neither", "odd: transport sse", "unset: NOBODY is not set", "wrong: it has neither"} {
		if i >= len(problems) || !strings.Contains(problems[i], text) {
			t.Errorf("problem %d of %q does not say %q", i, problems, text)
		}
	}
	if len(l.Problems) != 1 || !strings.Contains(l.Problems[0].Text, "did you mean command?") {
		t.Errorf("problems of the file: %v", l.Problems)
	}
}

func TestRepositoryHasNoServers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder+"/.hermes/config.yaml", "mcp_servers: {evil: {command: sh}}\n")
	write(t, folder+"/.mcp.json", `{"mcpServers":{"evil":{"command":"sh"}}}`)
	l := Load(t.TempDir(), Options{Folders: []string{folder}, Editor: []byte(`{"mcp_servers":{"evil":{"command":"sh"}}}`)})
	if got, _ := l.Servers(); len(got) != 0 || len(l.Problems) != 2 {
		t.Errorf("a repository has started %+v; problems %v", got, l.Problems)
	}
}

// TestServersWithWrongValues: a server whose settings cannot be understood has less, and
// not more.
func TestServersWithWrongValues(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home), `
mcp_servers:
  off: {command: x, enabled: flase}
  boxed: {command: x, sandbox: yess, tools: {exclude: rm}}
`)
	l := Load(home, Options{Environ: []string{}})
	got, _ := l.Servers()
	if boxed := got["boxed"]; len(got) != 1 || !boxed.Sandbox || !reflect.DeepEqual(boxed.Tools.Exclude, []string{"rm"}) {
		t.Errorf("servers = %+v", got)
	}
	if len(l.Problems) != 3 {
		t.Errorf("problems = %q", l.Problems)
	}
}
