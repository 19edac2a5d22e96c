package app_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// In plan mode, the session and its subagents run only MCP tools marked as read-only by their
// server. The others cause no approval request.
func TestPlanModeMCP(t *testing.T) {
	t.Parallel()
	var changed, looked atomic.Int32
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, readOnly bool, count *atomic.Int32) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: readOnly}},
			func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				count.Add(1)
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "did " + name}}}, nil, nil
			})
	}
	add("change", false, &changed)
	add("look", true, &looked)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.Close)

	subagent := false
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		r := x.Request
		switch last := r.Messages[len(r.Messages)-1]; {
		case last.Role == model.ToolRole && last.CallID() != "d":
			results := r.Messages[len(r.Messages)-2].Text() + last.Text()
			if !strings.Contains(results, "plan mode") || !strings.Contains(results, "did look") {
				t.Errorf("the results: %s", results)
			}
			if strings.Contains(r.System, "You are a subagent") {
				subagent = true
				x.Text("Looked.")
				return
			}
			x.Call("d", "delegate_task", `{"goal":"Look","toolsets":["mcp-tickets"]}`)
		case last.CallID() == "d":
			x.Text("Planned.")
		default:
			for _, name := range []string{"mcp__tickets__change", "mcp__tickets__look"} {
				if !slices.ContainsFunc(r.Tools, func(o model.Tool) bool { return o.Name == name }) {
					t.Errorf("%s is not offered", name)
				}
				x.Call("", name, "{}")
			}
		}
	})
	home := t.TempDir()
	config := fmt.Sprintf("mcp_servers: {tickets: {url: %q}}\n", web.URL)
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	service := app.New(server.Options{Home: home, Environ: []string{"TEST=1"}, Model: m})
	t.Cleanup(func() { _ = service.Close() })
	host := &chooser{}
	x, err := service.NewSession(t.Context(), server.Place{Cwd: t.TempDir()}, host)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.SetMode(t.Context(), server.ModePlan); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "Plan it"}, nil); err != nil {
		t.Fatal(err)
	}
	if !subagent {
		t.Error("no subagent has ended")
	}
	if changed.Load() != 0 || looked.Load() != 2 {
		t.Errorf("%d changes, %d looks", changed.Load(), looked.Load())
	}
	for _, q := range host.questions {
		if len(q.Choices) == 0 {
			t.Errorf("asked: %+v", q)
		}
	}
}
