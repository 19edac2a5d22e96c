package params

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK still sends the headers of a tool, and leaves out tools whose headers are invalid.
func TestKeep(t *testing.T) {
	t.Parallel()
	const plain = `{"properties":{"a":{"type":"string"}},"type":"object"}`
	schemas := map[string]string{
		"plain":  plain,
		"header": `{"properties":{"a":{"type":"string","x-mcp-header":"Region"}},"type":"object"}`,
		"wrong":  `{"properties":{"a":{"type":"array","x-mcp-header":"Region"}},"type":"object"}`,
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "s", Version: "1"}, nil)
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method != "tools/list" {
				return next(ctx, method, req)
			}
			var list sdk.ListToolsResult
			for name, schema := range schemas {
				list.Tools = append(list.Tools, &sdk.Tool{Name: name, InputSchema: json.RawMessage(schema)})
			}
			return &list, nil
		}
	})
	for _, name := range []string{"plain", "header"} {
		server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(schemas[name])}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	}
	var mu sync.Mutex
	var sent []string
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		sent = append(sent, r.Header.Values("Mcp-Param-Region")...)
		mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	defer web.Close()
	client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil)
	client.AddSendingMiddleware(Keep)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: web.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if got, err := Of(tool.InputSchema); err != nil || string(got) != schemas[tool.Name] {
			t.Errorf("the parameters of %s are %s, %v", tool.Name, got, err)
		}
		if _, is := tool.InputSchema.(hidden); is != (tool.Name == "plain") {
			t.Errorf("the schema of %s is a %T", tool.Name, tool.InputSchema)
		}
		if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: map[string]any{"a": tool.Name}}); err != nil {
			t.Error(err)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"header", "plain"}) {
		t.Errorf("the tools are %v", names)
	}
	if mu.Lock(); !slices.Equal(sent, []string{"header"}) {
		t.Errorf("the headers are %v", sent)
	}
	mu.Unlock()
}

func TestHasHeader(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{"properties":{"a":{"type":"string"}}}`:                            false,
		`{"properties":{"a":{"x-mcp-header":"A"}}}`:                         true,
		`{"properties":{"a":{"properties":{"b":{"x-mcp-header":7}}}}}`:      true,
		`{"anyOf":[7,{"properties":{"b":{"x-mcp-header":null}}}]}`:          true,
		`{"description":"x-mcp-header","enum":["x-mcp-header"],"type":"x"}`: false,
	} {
		var schema map[string]any
		if err := json.Unmarshal([]byte(in), &schema); err != nil {
			t.Fatal(err)
		}
		if got := hasHeader(schema); got != want {
			t.Errorf("%s: %t", in, got)
		}
	}
}
