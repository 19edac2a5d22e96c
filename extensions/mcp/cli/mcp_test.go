package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/internal/modes"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

func TestMain(m *testing.M) {
	modes.Enter()
	os.Exit(m.Run())
}

// shell is a user's shell: a home with ~/.hermes, and a workspace folder in which commands run.
type shell struct {
	t                  *testing.T
	user, home, folder string
}

func newShell(t *testing.T) *shell {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{t, top, filepath.Join(top, ".hermes"), filepath.Join(top, "project")}
	s.write("project/README.md", "")
	s.write(".hermes/.env", "")
	for name, value := range map[string]string{"HOME": s.user, "HERMES_HOME": s.home, "XDG_CONFIG_HOME": "", "CODEX_HOME": ""} {
		t.Setenv(name, value)
	}
	t.Chdir(s.folder)
	return s
}

// write writes a file below the user's home.
func (s *shell) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.user, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shell) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.home, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// program returns the options of the commands, without plugins.
func program() Options {
	return Options{
		Home: cli.Home{
			Version: "test",
			Schema:  func() *config.Schema { return config.NewSchema(*mcp.Settings()) },
			Path: func(string) userpath.Finder {
				return func(context.Context) (string, bool) { return os.Getenv("PATH"), true }
			},
			Secrets: func(c *config.Loaded) map[string]string { return c.Secrets(proc.Secret) },
		},
		Logins:  func(c *config.Loaded) *login.Store { return login.Open(c.Home, "") },
		Plugins: func(*config.Loaded, []string) ([]mcp.Server, []error) { return nil, nil },
		Serve:   &cobra.Command{Use: "serve"},
	}
}

// run runs `hermes-ls mcp` without a terminal. It returns stdout, and stderr with the error.
func (s *shell) run(args ...string) (code int, out, errOut string) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := New(program())
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(s.t.Context()); err != nil {
		stderr.WriteString(err.Error())
		code = cli.Failed
		var exit *cli.Exit
		if errors.As(err, &exit) {
			code = exit.Code
		}
	}
	return code, stdout.String(), stderr.String()
}

// succeeds runs a command and requires exactly this output.
func (s *shell) succeeds(want string, args ...string) {
	s.t.Helper()
	if code, out, errOut := s.run(args...); code != 0 || out != want {
		s.t.Errorf("mcp %s: exit %d\n%s%s\nwant\n%s", strings.Join(args, " "), code, out, errOut, want)
	}
}

// fails runs a command and requires an error with a text.
func (s *shell) fails(code int, want string, args ...string) {
	s.t.Helper()
	if got, out, errOut := s.run(args...); got != code || !strings.Contains(errOut, want) {
		s.t.Errorf("mcp %s: exit %d and not %d\n%s%s\nwant\n%s", strings.Join(args, " "), got, code, out, errOut, want)
	}
}

// Each form of other programs becomes an entry of config.yaml, or a line with the reason.
func TestImport(t *testing.T) {
	for name, c := range map[string]struct {
		file, text                  string
		printed, entries, variables string // entries: the lines of config.yaml after its comment; the last entry is added first
	}{
		"claude": {
			".claude.json", `{"numStartups": 3, "mcpServers": {
				"files": {"type": "stdio", "command": "npx", "args": ["-y", "server-files", "/tmp"], "env": {}},
				"web": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer abc-123", "X-Team": "one"}},
				"old": {"type": "sse", "url": "https://a.example/sse"},
				"helper": {"type": "http", "url": "https://a.example/mcp", "headersHelper": "/bin/token"},
				"socket": {"type": "ws", "url": "wss://a.example"},
				"odd": {"command": "x", "env": {"PORT": 8080}}},
				"projects": {"FOLDER": {"mcpServers": {"here": {"command": "uvx", "args": ["here"], "env": {"GITHUB_TOKEN": "ghp_secret"}}}},
					"/elsewhere": {"mcpServers": {"there": {"command": "x"}}}}}`,
			"files: imported\nhelper: not supported: headersHelper\nhere: imported\nodd: not supported: a value of a wrong type\nold: imported\n" +
				"socket: not supported: type ws\nweb: imported\n",
			`mcp_servers:
  web: {"url": "https://a.example/mcp", "transport": "http", "headers": {"Authorization": "Bearer ${WEB_AUTHORIZATION}", "X-Team": "one"}}
  old: {"url": "https://a.example/sse", "transport": "sse"}
  here: {"command": "uvx", "args": ["here"], "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}}
  files: {"command": "npx", "args": ["-y", "server-files", "/tmp"]}
`,
			"GITHUB_TOKEN=ghp_secret\nWEB_AUTHORIZATION=abc-123\n",
		},
		"claude-desktop": {
			".config/Claude/claude_desktop_config.json", `{"mcpServers": {"search": {"command": "npx", "args": ["search"], "env": {"BRAVE_API_KEY": "BSA-key"}}}}`,
			"search: imported\n",
			"mcp_servers:\n  search: {\"command\": \"npx\", \"args\": [\"search\"], \"env\": {\"BRAVE_API_KEY\": \"${BRAVE_API_KEY}\"}}\n",
			"BRAVE_API_KEY=BSA-key\n",
		},
		"codex": {
			".codex/config.toml", `model = "gpt-5"
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env_vars = ["LOCAL_SETTING"]
startup_timeout_sec = 20
tool_timeout_sec = 90.0
enabled_tools = ["search", "read"]
disabled_tools = ["remove"]
[mcp_servers.docs.env]
LEVEL = "3"
[mcp_servers.figma]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "FIGMA_TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "FIGMA_KEY" }
enabled = false
[mcp_servers.remote]
command = "x"
env_vars = [{ name = "A", source = "remote" }]
`,
			"docs: imported\nfigma: imported\nremote: not supported: env_vars\n",
			`mcp_servers:
  figma: {"url": "https://mcp.figma.example/mcp", "headers": {"Authorization": "Bearer ${FIGMA_TOKEN}", "X-Key": "${FIGMA_KEY}", "X-Region": "eu"}, "enabled": false}
  docs: {"command": "npx", "args": ["-y", "docs"], "env": {"LEVEL": "3", "LOCAL_SETTING": "${LOCAL_SETTING:-}"}, "timeout": 90, "connect_timeout": 20, "tools": {"include": ["search", "read"], "exclude": ["remove"]}}
`,
			"",
		},
		"cursor": {
			".cursor/mcp.json", `{"mcpServers": {"db": {"command": "${workspaceFolder}/db", "env": {"DB_PASSWORD": "${env:DB_PASSWORD}"}},
				"env": {"command": "x", "envFile": ".env"}, "linear": {"url": "https://mcp.linear.example/sse", "auth": {"CLIENT_ID": "cursor", "CLIENT_SECRET": "s3cret", "scopes": ["read", "write"]}}, "shell": {"command": "x", "args": ["${command:pick}"]}}}`,
			"db: imported\nenv: not supported: envFile\nlinear: imported\nshell: not supported: ${command:pick}\n",
			`mcp_servers:
  linear: {"url": "https://mcp.linear.example/sse", "oauth": {"client_id": "cursor", "client_secret": "${LINEAR_CLIENT_SECRET}", "scope": "read write"}}
  db: {"command": "${workspaceFolder}/db", "env": {"DB_PASSWORD": "${env:DB_PASSWORD}"}}
`,
			"LINEAR_CLIENT_SECRET=s3cret\n",
		},
		"gemini": {
			".gemini/settings.json", `{"theme": "Dark", "mcp": {"allowed": ["py"]}, "mcpServers": {
				"py": {"command": "python", "args": ["-m", "srv"], "cwd": "./srv", "env": {"API_KEY": "$MY_API_KEY", "MODE": "${MODE}"}, "timeout": 15000, "trust": true, "includeTools": ["a"], "excludeTools": ["b"]},
				"web": {"httpUrl": "https://g.example/mcp"}}}`,
			"py: imported\nweb: imported\n",
			`mcp_servers:
  web: {"url": "https://g.example/mcp", "transport": "http"}
  py: {"command": "python", "args": ["-m", "srv"], "env": {"API_KEY": "${MY_API_KEY}", "MODE": "${MODE}"}, "cwd": "./srv", "timeout": 15, "tools": {"include": ["a"], "exclude": ["b"]}}
`,
			"",
		},
		"vscode": {
			".config/Code/User/mcp.json", `{
				// inputs are asked for by the editor
				"inputs": [{"type": "promptString", "id": "github_token", "password": true}],
				"servers": {
					"github": {"type": "http", "url": "https://api.example/mcp", "headers": {"Authorization": "Bearer ${input:github_token}"}},
					"local": {"type": "stdio", "command": "node", "args": ["${workspaceFolder}${/}s.js", "http://a//b"], /* old */ "env": {"LEVEL": "1"},},
				},
			}`,
			"github: imported without its inputs. Before it connects, write this into .env in the Hermes home: GITHUB_TOKEN=VALUE\nlocal: imported\n",
			"mcp_servers:\n  local: {\"command\": \"node\", \"args\": [\"${workspaceFolder}${/}s.js\", \"http://a//b\"], \"env\": {\"LEVEL\": \"1\"}}\n" +
				"  github: {\"url\": \"https://api.example/mcp\", \"transport\": \"http\", \"headers\": {\"Authorization\": \"Bearer ${GITHUB_TOKEN}\"}}\n",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			const comment = "# mine\nmodel: {default: x} # stays\n"
			s.write(".hermes/config.yaml", comment)
			s.write(c.file, strings.ReplaceAll(c.text, "FOLDER", s.folder))
			s.succeeds(c.printed, "import", name, "--dry-run")
			if got := s.read("config.yaml"); got != comment {
				t.Errorf("a dry run has written %s", got)
			}
			s.succeeds(c.printed, "import", name)
			if got := s.read("config.yaml"); got != comment+c.entries {
				t.Errorf("config.yaml is\n%s\nand not\n%s", got, comment+c.entries)
			}
			if got := s.read(".env"); got != c.variables {
				t.Errorf(".env is %q and not %q", got, c.variables)
			}
			again, _, _ := strings.Cut(c.printed, " without its inputs")
			if _, rest, more := strings.Cut(c.printed, "=VALUE"); more {
				again += rest
			}
			s.succeeds(strings.ReplaceAll(again, "imported", "exists"), "import", filepath.Join(s.user, c.file))
			if got := s.read("config.yaml"); got != comment+c.entries {
				t.Errorf("a second import has changed config.yaml:\n%s", got)
			}
		})
	}
}

// Settings without a counterpart are named, and the others of the server are imported.
func TestImportLeavesOut(t *testing.T) {
	s := newShell(t)
	s.write("g.json", `{"mcpServers": {"a": {"command": "x", "trust": true, "autoApprove": ["y"]},
		"b": {"url": "https://b.example/mcp", "oauth": {"enabled": true, "clientId": "me", "callbackPort": 8080, "tokenUrl": "https://c.example"}},
		"c": {"command": "x", "cwd": "/"}}}`)
	for _, args := range [][]string{{"--dry-run"}, nil} {
		code, out, notes := s.run(append([]string{"import", filepath.Join(s.user, "g.json")}, args...)...)
		if code != 0 || out != "a: imported\nb: imported\nc: imported\n" ||
			notes != "a: these settings have no counterpart and are left out: autoApprove, trust\nb: these settings have no counterpart and are left out: oauth.tokenUrl\n" {
			t.Errorf("exit %d\n%s%s", code, out, notes)
		}
	}
	if got := s.read("config.yaml"); !strings.Contains(got, `b: {"url": "https://b.example/mcp", "oauth": {"client_id": "me", "redirect_port": 8080}}`) {
		t.Errorf("config.yaml is\n%s", got)
	}
}

// Import without a source lists the existing sources.
func TestImportSources(t *testing.T) {
	s := newShell(t)
	s.succeeds("No other program with MCP servers was found. hermes-ls mcp import FILE reads a file.\n", "import")
	s.write(".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`)
	s.write(".gemini/settings.json", `{}`)
	s.succeeds("cursor: 2 servers in "+filepath.Join(s.user, ".cursor/mcp.json")+"\n", "import")
	s.succeeds("b: imported\n", "import", "cursor", "b")
	s.fails(cli.Failed, "the source has no server c", "import", "cursor", "c")
	s.fails(cli.Failed, "the source has no servers", "import", "gemini")
	s.fails(cli.Failed, "reading", "import", "codex")
}

// Entries are added and removed; comments and other entries stay, and secrets go to .env.
func TestAddRemove(t *testing.T) {
	s := newShell(t)
	before := "# my servers\nmcp_servers:\n  first: {command: one} # keep\n"
	s.write(".hermes/config.yaml", before)
	s.write(".hermes/.env", "# keys\nX_KEY=other\n")
	s.succeeds("docs: added\n", "add", "docs", "--no-test", "--header", "X-Key: abc", "--header", "X-Team=a b", "--transport", "http", "https://d.example/mcp")
	s.succeeds("prog: added\n", "add", "prog", "--no-test", "--env", "API_TOKEN=t0ken", "--env", "LEVEL=3", "--", "npx", "-y", "p", "--", "--flag")
	want := strings.Replace(before, "servers:\n", `servers:
  prog: {"command": "npx", "args": ["-y", "p", "--", "--flag"], "env": {"API_TOKEN": "${API_TOKEN}", "LEVEL": "3"}}
  docs: {"url": "https://d.example/mcp", "transport": "http", "headers": {"X-Key": "${DOCS_X_KEY}", "X-Team": "a b"}}
`, 1)
	if got := s.read("config.yaml"); got != want {
		t.Errorf("config.yaml is\n%s\nand not\n%s", got, want)
	}
	if got := s.read(".env"); got != "# keys\nX_KEY=other\nDOCS_X_KEY=abc\nAPI_TOKEN=t0ken\n" {
		t.Errorf(".env is %s", got)
	}
	s.fails(cli.Failed, "first: exists", "add", "first", "--no-test", "--", "other")
	for _, c := range [][]string{
		{"add", "x"},
		{"add", "x y", "--no-test", "https://a.example"},
		{"add", "x", "--no-test", "a.example"},
		{"add", "x", "--no-test", "--env", "A=1", "https://a.example"},
		{"add", "x", "--no-test", "--header", "A=1", "--", "y"},
		{"add", "x", "--no-test", "--transport", "ws", "https://a.example"},
		{"add", "x", "--no-test", "--env", "novalue", "--", "y"},
		{"test", "x", "--args", "{"},
		{"test", "x", "--answer", "maybe"},
		{"logout"},
		{"logout", "x", "--all"},
		{"approve"},
		{"logs", "../x"},
		{},
	} {
		if code, out, errOut := s.run(c...); code != cli.WrongUse {
			t.Errorf("%q: exit %d: %s%s", c, code, out, errOut)
		}
	}
	s.succeeds("docs: removed\n", "remove", "docs")
	s.succeeds("prog: removed\n", "remove", "prog")
	if got := s.read("config.yaml"); got != before {
		t.Errorf("config.yaml is %s", got)
	}
	s.fails(cli.Failed, `no MCP server "docs"`, "remove", "docs")
}

// Secrets in arguments and URLs go to .env, too. Two servers with different values of the same name
// get two variables.
func TestAddHidesSecrets(t *testing.T) {
	testneed.Extra(t)
	s := newShell(t)
	s.write(".hermes/config.yaml", "")
	add := func(name string, args ...string) {
		s.succeeds(name+": added\n", append([]string{"add", name, "--no-test"}, args...)...)
	}
	add("a", "--", "npx", "-y", "p", "--api-key", "0123456789", "--token=9876543210", "--token-file", "/etc/token", "--auth", "none", "--port", "3000")
	add("b", "--", "npx", "mcp-remote", "https://b.example/mcp", "--header", "Authorization: Bearer abcdefghij", "ghp_abcdefghij")
	add("c", "--", "docker", "run", "-e", "API_KEY=secondvalue", "--token=9876543210")
	add("p", "--env", "DATABASE_URL=postgres://root:hunter2secret@db/x", "--env", "DB_PASSWORD=p#ss word", "--env", "OPENAI_API_KEY=sk-of-the-server", "--", "prog", "--dsn", "redis://:other2secret@db/1")
	add("d", "https://user:geheimes@d.example:8080/mcp?region=eu&api_key=thirdvalue&x=1")
	want := `mcp_servers:
  d: {"url": "https://user:${D_PASSWORD}@d.example:8080/mcp?region=eu&api_key=${D_API_KEY}&x=1"}
  p: {"command": "prog", "args": ["--dsn", "redis://:${P_PASSWORD_2}@db/1"], "env": {"DATABASE_URL": "postgres://root:${P_PASSWORD}@db/x", "DB_PASSWORD": "${DB_PASSWORD}", "OPENAI_API_KEY": "${P_OPENAI_API_KEY}"}}
  c: {"command": "docker", "args": ["run", "-e", "API_KEY=${C_API_KEY}", "--token=${C_TOKEN}"]}
  b: {"command": "npx", "args": ["mcp-remote", "https://b.example/mcp", "--header", "Authorization: Bearer ${B_AUTHORIZATION}", "${B_ARGUMENT}"]}
  a: {"command": "npx", "args": ["-y", "p", "--api-key", "${A_API_KEY}", "--token=${A_TOKEN}", "--token-file", "/etc/token", "--auth", "none", "--port", "3000"]}
`
	if got := s.read("config.yaml"); got != want {
		t.Errorf("config.yaml is\n%s\nand not\n%s", got, want)
	}
	if got := s.read(".env"); got != "A_API_KEY=0123456789\nA_TOKEN=9876543210\nB_AUTHORIZATION=abcdefghij\nB_ARGUMENT=ghp_abcdefghij\nC_API_KEY=secondvalue\nC_TOKEN=9876543210\nP_PASSWORD=hunter2secret\nDB_PASSWORD='p#ss word'\nP_OPENAI_API_KEY=sk-of-the-server\nP_PASSWORD_2=other2secret\nD_PASSWORD=geheimes\nD_API_KEY=thirdvalue\n" {
		t.Errorf(".env is %s", got)
	}
	s.write("two.json", `{"mcpServers": {"e": {"command": "x", "env": {"NEW_TOKEN": "one"}}, "f": {"command": "x", "env": {"NEW_TOKEN": "two"}}, "g": {"command": "x", "env": {"NEW_TOKEN": "one"}}}}`)
	s.succeeds("e: imported\nf: imported\ng: imported\n", "import", filepath.Join(s.user, "two.json"))
	if got := s.read(".env"); !strings.HasSuffix(got, "\nNEW_TOKEN=one\nF_NEW_TOKEN=two\n") {
		t.Errorf(".env is %s", got)
	}
	if _, out, _ := s.run("list"); strings.Contains(out, "0123456789") || strings.Contains(out, "geheimes") || strings.Contains(out, "thirdvalue") || !strings.Contains(words(out), "- https://d.example:8080/mcp") {
		t.Errorf("the list has secrets:\n%s", out)
	}
}

// A server of the folder is approved by its exact content, in a trusted folder, by a user.
func TestApproveRevoke(t *testing.T) {
	s := newShell(t)
	s.write("project/.mcp.json", `{"mcpServers": {"db": {"command": "./db.sh", "args": ["\u001b[2J", "a && b <c>", "${DB_URL}"], "env": {"DB_URL": "${DB_URL}"}}, "both": {"command": "x", "url": "https://y"}}}`)
	s.write("project/db.sh", "#!/bin/sh\n")
	store := trust.Open(s.home)
	state := func(want string) {
		t.Helper()
		_, out, errOut := s.run("list", "--json")
		var list struct{ Servers []row }
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Servers) != 2 || list.Servers[1].Name != "db" {
			t.Fatalf("%v: %s%s", err, out, errOut)
		}
		if got := list.Servers[1].State; got != want {
			t.Errorf("db is %q and not %q", got, want)
		}
	}
	state("not approved")
	s.fails(cli.Failed, "the folder is not trusted", "approve", "db", "--yes")
	if _, err := store.Trust(t.Context(), s.folder); err != nil {
		t.Fatal(err)
	}
	s.fails(cli.Failed, "no MCP server \"other\"", "approve", "other", "--yes")
	s.fails(cli.Failed, "both of .mcp.json cannot be used: it must have a command or a url", "approve", "both", "--yes")
	s.fails(cli.Failed, "there is no terminal to ask on", "approve", "db")
	s.fails(cli.Failed, "is not approved: hermes-ls mcp approve db", "test", "db")
	code, out, errOut := s.run("approve", "db", "--yes")
	if code != 0 || !strings.Contains(out, "It gets these variables: DB_URL") || !strings.Contains(out, `"a && b <c>",`) || !strings.HasSuffix(out, "db: approved\n") || strings.Contains(out, "\x1b") {
		t.Errorf("exit %d: %q%s", code, out, errOut)
	}
	approved := func() bool {
		for _, one := range trust.Servers(s.folder) {
			if one.Name == "db" {
				return store.Approved(one)
			}
		}
		return false
	}
	if !approved() {
		t.Error("db is not approved")
	}
	s.write("project/db.sh", "#!/bin/sh\n# changed\n")
	if approved() {
		t.Error("another file has the approval")
	}
	state("not approved")
	s.write("project/db.sh", "#!/bin/sh\n")
	if !approved() {
		t.Error("the same content has no approval")
	}
	s.write(".hermes/.env", "DB_URL=value-of-it\n")
	if _, out, _ := s.run("list"); !strings.Contains(out, "${DB_URL} (from .mcp.json)") || strings.Contains(out, "value-of-it") {
		t.Errorf("the list of an approved server: %s", out)
	}
	s.succeeds("db: not approved\n", "revoke", "db")
	if approved() {
		t.Error("the approval is not removed")
	}
}

// The list and the test of a server show its state and its offer, and end with the documented exit codes.
func TestListTest(t *testing.T) {
	s := newShell(t)
	server := sdk.NewServer(&sdk.Implementation{Name: "here", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "say"}, func(_ context.Context, _ *sdk.CallToolRequest, in struct{ Text string }) (*sdk.CallToolResult, any, error) {
		if in.Text == "" {
			return nil, nil, errors.New("nothing to say")
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "said " + in.Text + "\x1b[31m"}}}, nil, nil
	})
	server.AddPrompt(&sdk.Prompt{Name: "plan"}, nil)
	server.AddResource(&sdk.Resource{URI: "memo://a", Name: "a"}, nil)
	good := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(good.Close)
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(closed.Close)
	s.write(".hermes/config.yaml", "mcp_servers:\n  here: {url: "+good.URL+"}\n  inside: {url: "+closed.URL+"}\n  gone: {command: /no/such/program, args: [x]}\n"+
		"  off: {url: \"https://off.example/mcp\", enabled: false}\n  unset: {url: \"https://${NOT_SET}\"}\n")
	s.write("project/.mcp.json", `{"mcpServers": {"db": {"command": "./tools/db"}, "here": {"command": "other"}}}`)
	code, out, errOut := s.run("list")
	lines := strings.Split(out, "\n")
	for i, want := range []string{
		"NAME    STATE         TOOLS  FROM",
		"db      not approved      -  ./tools/db (from .mcp.json)  hermes-ls mcp approve db",
		"gone    failed            -  /no/such/program x ",
		"here    connected         1  " + good.URL,
		"inside  needs login       -  " + closed.URL,
		"off     disabled          -  https://off.example/mcp",
		"unset   failed            -  https://${NOT_SET}",
	} {
		if i >= len(lines) || !strings.HasPrefix(words(lines[i]), words(want)) {
			t.Errorf("line %d is not %q", i, want)
		}
	}
	if code != 0 || t.Failed() {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	s.succeeds("here: connected, 1 tool, 1 prompt, 1 resource\n  say\nsaid hi⟨U+001B⟩[31m\n", "test", "here", "--call", "say", "--args", `{"Text": "hi"}`)
	var r report
	code, out, _ = s.run("test", good.URL, "--call", "say", "--args", `{"Text": ""}`, "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.Failed || r.State != "connected" || r.Error != "the tool reports an error" ||
		r.Resources != 1 || !slices.Equal(r.Tools, []string{"say"}) || !slices.Equal(r.Prompts, []string{"plan"}) || !strings.Contains(out, "nothing to say") {
		t.Errorf("a failed call: exit %d, %v\n%s", code, err, out)
	}
	s.fails(cli.NeedsLogin, "inside needs login: hermes-ls mcp login inside", "test", "inside")
	s.fails(cli.Failed, "NOT_SET is not set", "test", "unset")
	s.fails(cli.Failed, "off is disabled (mcp_servers.off.enabled)", "test", "off")
	s.fails(cli.Failed, "cannot start /no/such/program", "test", "gone")
	s.fails(cli.Failed, `no MCP server "none"`, "restart", "none")
	s.succeeds("here: running sessions connect it again at their next call\n", "restart", "here")
	s.fails(cli.Failed, `there is no log of "here"`, "logs", "here")
	s.write(".hermes/logs/mcp-here.log", "one\n")
	s.succeeds("one\n", "logs", "here")
	s.write(".hermes/logs/mcp-a_b.log", "two\n")
	s.succeeds("two\n", "logs", "a.b") // characters are replaced if a tool's name cannot contain them
	s.succeeds("off: was not logged in\n", "logout", "off")
	for name, state := range map[string]string{"off": "disabled", "unset": "failed", "db": "not approved", "none": "failed"} {
		var r report
		code, out, _ := s.run("test", name, "--json")
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.Failed || r.Name != name || r.State != state || r.Error == "" {
			t.Errorf("test %s --json: exit %d, %v: %s", name, code, err, out)
		}
	}
}

// A terminal gets no control characters of a server.
func TestReportIsEscaped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeReport(&b, report{Name: "a", State: "connected", Tools: []string{"b\x1b[2J"}, Result: &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "c\x1b[2J"}}}})
	if got := b.String(); strings.Contains(got, "\x1b") || !strings.Contains(got, "  b⟨U+001B⟩[2J\nc⟨U+001B⟩[2J\n") {
		t.Errorf("%q", got)
	}
}

func words(line string) string { return strings.Join(strings.Fields(line), " ") }
