package app_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// The doctor tells of each configured MCP server.
func TestDoctorTellsOfServers(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "look"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer web.Close()
	home := t.TempDir()
	text := "mcp_servers:\n  there: {url: '" + web.URL + "?key=hidden'}\n  gone: {command: /no/such/server}\n  odd: {}\n"
	if err := os.WriteFile(config.Path(home), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range app.Doctor(t.Context(), app.Home("test"), app.Config().Load(home, config.Options{})) {
		if f.What == "mcp" {
			got = append(got, string(f.State)+" "+f.Text)
		}
	}
	want := []string{"note mcp_servers.odd: it has neither", "note gone: not connected: cannot start /no/such/server", "ok there: 1 tool (" + web.URL + ")"}
	for i, w := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], w) {
			t.Errorf("finding %d of %q is not %q", i, got, w)
		}
	}
}
