package acp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

const secretToken = "t0ken-of-the-user"

// mcpServer is a server over HTTP. It requires a token, and the tool leak returns it.
func mcpServer(t *testing.T) protocol.MCPServer {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	say := func(text string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds."}, func(_ context.Context, _ *mcp.CallToolRequest, in struct{ A, B int }) (*mcp.CallToolResult, any, error) {
		return say(strings.Repeat("x", in.A+in.B))
	})
	mcp.AddTool(s, &mcp.Tool{Name: "leak", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return say("you are " + r.Extra.Header.Get("Authorization"))
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secretToken {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return protocol.MCPServer{Type: "http", Name: "demo", URL: web.URL, Headers: []protocol.HTTPHeader{{Name: "Authorization", Value: "Bearer " + secretToken}}}
}

// TestMCPServers goes through the life of a session's servers: offered, asked about,
// gone with the session, and there again when it is loaded with them.
func TestMCPServers(t *testing.T) {
	t.Parallel()
	server := mcpServer(t) // ends after the client
	m := fakemodel.Script(
		tool("mcp__demo__add", `{"A":1,"B":2}`), tool("mcp__demo__leak", `{}`), reply("done"),
		tool("mcp__demo__add", `{"A":0,"B":1}`), reply("again"),
		tool("mcp__demo__add", `{"A":0,"B":1}`), reply("without"),
		reply("another session"),
	)
	c := connect(t, setup{model: m})
	var asked []protocol.RequestPermissionRequest
	c.on(protocol.MethodRequestPermission, func(params json.RawMessage) (any, *protocol.Error) {
		var p protocol.RequestPermissionRequest
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		asked = append(asked, p)
		return protocol.RequestPermissionResponse{Outcome: protocol.PermissionOutcome{Outcome: "selected", OptionID: "session"}}, nil
	})
	var made protocol.NewSessionResponse
	c.must(protocol.MethodSessionNew, protocol.NewSessionRequest{Cwd: c.ws, MCPServers: []protocol.MCPServer{server}}, &made)
	id := made.SessionID
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "add"))); got != "end_turn" {
		t.Fatal(got)
	}
	if len(asked) != 1 || !strings.Contains(asked[0].ToolCall.Title, `demo: add {"A":1,"B":2}`) || !strings.Contains(asked[0].Options[1].Name, "mcp__demo__add@") {
		t.Errorf("asked %+v", asked)
	}
	results := ended(c)
	if !strings.Contains(string(results["call-mcp__demo__add"].RawOutput), `"xxx"`) || !strings.Contains(string(results["call-mcp__demo__leak"].RawOutput), "withheld]") {
		t.Errorf("results %+v", results)
	}
	offered := m.Requests()[0].Tools
	if names := toolNames(offered); !slices.Contains(names, "mcp__demo__add") || !slices.Contains(names, "mcp__demo__leak") {
		t.Errorf("offered %q", names)
	}

	c.must(protocol.MethodSessionClose, protocol.CloseSessionRequest{SessionID: id}, nil)
	c.must(protocol.MethodSessionLoad, protocol.LoadSessionRequest{SessionID: id, Cwd: c.ws, MCPServers: []protocol.MCPServer{server}}, nil)
	c.call(protocol.MethodSessionPrompt, say(id, "again"))
	if got := lastResult(c); !strings.Contains(got, `"x"`) {
		t.Errorf("after loading: %s", got)
	}

	c.must(protocol.MethodSessionClose, protocol.CloseSessionRequest{SessionID: id}, nil)
	c.must(protocol.MethodSessionResume, protocol.ResumeSessionRequest{SessionID: id, Cwd: c.ws}, nil)
	c.call(protocol.MethodSessionPrompt, say(id, "without"))
	if got := lastResult(c); !strings.Contains(got, "not connected in this session") {
		t.Errorf("without the server: %s", got)
	}

	c.call(protocol.MethodSessionPrompt, say(c.newSession(), "hello"))
	all := m.Requests()
	if names := toolNames(all[len(all)-1].Tools); slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "mcp__") }) {
		t.Errorf("another session is offered %q", names)
	}
	c.close()
	holdsNo(t, c.home, secretToken)
}

// ended are the last results of calls, by id.
func ended(c *client) map[string]protocol.ToolCall {
	last := map[string]protocol.ToolCall{}
	for _, n := range calls(c.seen()) {
		if n.RawOutput != nil {
			last[n.ToolCallID] = n
		}
	}
	return last
}

func lastResult(c *client) (result string) {
	for _, n := range calls(c.seen()) {
		if n.RawOutput != nil {
			result = string(n.RawOutput)
		}
	}
	return result
}

// holdsNo looks for a secret in every file of a folder.
func holdsNo(t *testing.T, folder, secret string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(read(t, path), secret) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestConfiguredServer(t *testing.T) {
	t.Parallel()
	server := mcpServer(t)
	m := fakemodel.Script(tool("mcp__mine__leak", `{}`), reply("done"))
	c := connect(t, setup{model: m, env: []string{"DEMO_TOKEN=" + secretToken}, config: "mcp_servers:\n" +
		"  mine: {url: '" + server.URL + "', headers: {Authorization: 'Bearer ${DEMO_TOKEN}'}, tools: {include: [leak]}}\n" +
		"  dead: {command: /no/such/program}\n  odd: {command: x, env: {A: '${NOBODY}'}}\n"})
	id := c.newSession()
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "go"))); got != "end_turn" {
		t.Fatal(got)
	}
	if got := string(ended(c)["call-mcp__mine__leak"].RawOutput); !strings.Contains(got, "you are ") || strings.Contains(got, secretToken) {
		t.Errorf("result %s", got)
	}
	notices := text(c.seen(), protocol.UpdateAgentThought)
	for _, want := range []string{`"dead" is not connected: cannot start /no/such/program`, "mcp_servers.odd: NOBODY is not set"} {
		if !strings.Contains(notices, want) {
			t.Errorf("%q does not say %q", notices, want)
		}
	}
	for _, u := range c.seen() { // clients can tell notices from thoughts of the model
		if u.Kind == protocol.UpdateAgentThought && !strings.Contains(string(u.Raw), `"_meta":{"hermes":{"notice":true}}`) {
			t.Errorf("a notice without _meta: %s", u.Raw)
		}
	}
	if names := toolNames(m.Requests()[0].Tools); slices.Contains(names, "mcp__mine__add") {
		t.Errorf("a tool that was not included is offered: %q", names)
	}
}

func TestBadServers(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{})
	c.strict = false
	for want, server := range map[string]map[string]any{
		"mcpServers[0].name is missing":    {"command": "x"},
		"mcpServers[0].command is missing": {"name": "x"},
		"mcpServers[0].url is missing":     {"name": "x", "type": "sse"},
		`mcpServers[0].type "acp"`:         {"name": "x", "type": "acp"},
	} {
		r := c.call(protocol.MethodSessionNew, map[string]any{"cwd": c.ws, "mcpServers": []any{server}})
		if r.Error == nil || r.Error.Code != protocol.CodeInvalidParams || !strings.Contains(r.Error.Message, want) {
			t.Errorf("%v: %+v, want %q", server, r.Error, want)
		}
	}
}

func toolNames(offered []model.Tool) (names []string) {
	for _, t := range offered {
		names = append(names, t.Name)
	}
	return names
}

func decodeUpdate(t *testing.T, u update, into any) {
	t.Helper()
	if err := json.Unmarshal(u.Raw, into); err != nil {
		t.Fatal(err)
	}
}

// TestMCPAlways: Always allow is stored and applies in the next session.
func TestMCPAlways(t *testing.T) {
	t.Parallel()
	server := mcpServer(t) // ends after the client
	add := func() func(*fakemodel.Exchange) { return tool("mcp__demo__add", `{"A":1,"B":1}`) }
	c := connect(t, setup{model: fakemodel.Script(add(), reply("one"), add(), reply("two"))})
	asked := 0
	c.on(protocol.MethodRequestPermission, func(json.RawMessage) (any, *protocol.Error) {
		asked++
		return protocol.RequestPermissionResponse{Outcome: protocol.PermissionOutcome{Outcome: "selected", OptionID: "always"}}, nil
	})
	for range 2 {
		var made protocol.NewSessionResponse
		c.must(protocol.MethodSessionNew, protocol.NewSessionRequest{Cwd: c.ws, MCPServers: []protocol.MCPServer{server}}, &made)
		c.must(protocol.MethodSessionPrompt, say(made.SessionID, "add"), nil)
		if got := lastResult(c); !strings.Contains(got, `"xx"`) {
			t.Errorf("the call gave %s", got)
		}
	}
	if kept := read(t, filepath.Join(c.home, "config.yaml")); asked != 1 || !strings.Contains(kept, "mcp__demo__add@") {
		t.Errorf("asked %d times; config.yaml holds %q", asked, kept)
	}
}
