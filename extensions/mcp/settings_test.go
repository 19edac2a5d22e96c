package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
)

func load(home string, o config.Options) *config.Loaded {
	return config.NewSchema(*Settings()).Load(home, o)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configured returns the servers by their names.
func configured(l *config.Loaded) (map[string]Server, []error) {
	list, problems := Configured(l)
	servers := map[string]Server{}
	for _, s := range list {
		servers[s.Name] = s
	}
	return servers, problems
}

func TestServers(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, home+"/.env", "TOKEN=from-dotenv\n")
	write(t, config.Path(home), `
mcp_servers:
  plain: {command: npx, args: [-y, "@scope/server", "--key=${TOKEN}"], env: {API_KEY: "${KEY}", COST: "5$"}}
  web: {url: "https://${HOST:-example.com}/mcp", headers: {Authorization: "Bearer ${TOKEN}"}, timeout: 5, tools: {exclude: [rm]}}
  off: {command: x, enabled: false}
  unset: {command: x, env: {A: "${NOBODY}"}}
  neither: {}
  both: {command: x, url: "http://y"}
  odd: {command: x, transport: sse}
  wrong: {comand: x}
  numbers: {command: x, args: [--port, 8080, true], env: {PORT: 8080, DEBUG: true, NONE: }}
  lost: {command: x, args: [--version, 1.10]}
`)
	l := load(home, config.Options{Environ: []string{"KEY=from-environment"}, Folders: []string{t.TempDir()}})
	got, problems := configured(l)
	want := map[string]Server{
		"plain": {Name: "plain", Command: "npx", Args: []string{"-y", "@scope/server", "--key=from-dotenv"},
			Env: []string{"API_KEY=from-environment", "COST=5$"}, Headers: map[string]string{}},
		"web": {Name: "web", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer from-dotenv"},
			Timeout: 5 * time.Second, Exclude: []string{"rm"}},
		"numbers": {Name: "numbers", Command: "x", Args: []string{"--port", "8080", "true"}, Env: []string{"DEBUG=true", "PORT=8080"}, Headers: map[string]string{}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("servers = %+v\nwant %+v", got, want)
	}
	for i, text := range []string{"both: it has a command and a url", "lost.args must be a list of texts (put item 2 in quotes)", "neither: it has neither", "odd: transport sse", "unset: NOBODY is not set", "wrong: it has neither"} {
		if i >= len(problems) || !strings.Contains(problems[i].Error(), text) {
			t.Errorf("problem %d of %q does not say %q", i, problems, text)
		}
	}
	if len(l.Problems) != 2 || !strings.Contains(fmt.Sprint(l.Problems), "did you mean command?") {
		t.Errorf("problems of the file: %v", l.Problems)
	}
}

func TestRepositoryHasNoServers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder+"/.hermes/config.yaml", "mcp_servers: {evil: {command: sh}}\n")
	write(t, folder+"/.mcp.json", `{"mcpServers":{"evil":{"command":"sh"}}}`)
	l := load(t.TempDir(), config.Options{Folders: []string{folder}, Editor: []byte(`{"mcp_servers":{"evil":{"command":"sh"}}}`)})
	if got, _ := configured(l); len(got) != 0 || len(l.Problems) != 2 {
		t.Errorf("a repository has started %+v; problems %v", got, l.Problems)
	}
}

// TestServersWithWrongValues checks that invalid settings never give a server more rights.
func TestServersWithWrongValues(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, config.Path(home), `
mcp_servers:
  off: {command: x, enabled: flase}
  boxed: {command: x, sandbox: yess, tools: {exclude: rm}}
`)
	l := load(home, config.Options{Environ: []string{}})
	got, _ := configured(l)
	if boxed := got["boxed"]; len(got) != 1 || boxed.Sandbox != SandboxOn || !reflect.DeepEqual(boxed.Exclude, []string{"rm"}) {
		t.Errorf("servers = %+v", got)
	}
	if len(l.Problems) != 3 {
		t.Errorf("problems = %q", l.Problems)
	}
}

// A value of a wrong kind is reported and never ends the program.
func TestWrongValues(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"command", "args", "env", "url", "headers", "timeout", "tools", "oauth", "auth", "sandbox", "trust", "defer", "tools.approve", "tools.include", "oauth.scopes", "enabled"} {
		for _, value := range []string{"5", "[a]", "{a: [b]}", "{a: {b: c}}", "text", "true", "{'*': 1, x: allow}", "null"} {
			home := t.TempDir()
			setting := key + ": " + value
			if section, field, nested := strings.Cut(key, "."); nested {
				setting = section + ": {" + field + ": " + value + "}"
			}
			write(t, config.Path(home), "mcp_servers:\n  s: {"+setting+"}\n")
			l := load(home, config.Options{Folders: []string{t.TempDir()}})
			Configured(l)
		}
	}
	home := t.TempDir()
	write(t, config.Path(home), "mcp_servers:\n  s: {command: x, tools: {approve: {'rm*': deny, ls: [allow]}}}\n")
	l := load(home, config.Options{Folders: []string{t.TempDir()}})
	got, _ := configured(l)
	if want := map[string]string{"rm*": "deny"}; !reflect.DeepEqual(got["s"].Approve, want) || len(l.Problems) != 1 {
		t.Errorf("approve is %v, problems %v", got["s"].Approve, l.Problems)
	}
}

// A ~ at the start of the files for TLS is the user's home. A password stays.
func TestCertificatesInHome(t *testing.T) {
	t.Parallel()
	user, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	write(t, config.Path(home), "mcp_servers:\n"+
		"  one: {url: 'https://x.example', ssl_verify: ~/ca.pem, client_cert: ~/c.pem, client_key: ~/k.pem}\n"+
		"  two: {url: 'https://x.example', client_cert: [~/c.pem, ~/k.pem, ~/word]}\n")
	list, problems := Configured(load(home, config.Options{}))
	if len(list) != 2 || len(problems) > 0 {
		t.Fatalf("%v, %v", list, problems)
	}
	got := slices.Concat([]string{list[0].Verify}, list[0].Certificate, list[1].Certificate)
	if want := []string{user + "/ca.pem", user + "/c.pem", user + "/k.pem", user + "/c.pem", user + "/k.pem", "~/word"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
