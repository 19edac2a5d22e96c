package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestOddResults checks that the text of a result arrives in each of the servers' forms.
func TestOddResults(t *testing.T) {
	t.Parallel()
	const text = `"the needle"`
	part := `{"type":"text","text":` + text + `}`
	values := []string{
		text, `[` + text + `]`, part, `[` + part + `]`, `[[` + text + `]]`, `{"text":` + text + `}`, `{"answer":` + text + `}`, `[{"answer":` + text + `}]`, `{"type":"text","text":{"value":` + text + `}}`,
		`[null,` + text + `,5,true]`, `{"type":5,"text":` + text + `}`, `{"value":` + text + `,"type":"text"}`,
	}
	for method, keys := range map[string][]string{
		"tools/call": {"", "content", "toolResult", "result"}, "prompts/get": {"", "messages", "content"}, "resources/read": {"", "contents", "content"},
	} {
		for _, value := range values {
			for _, key := range keys {
				result := value
				if key != "" {
					result = fmt.Sprintf(`{%q:%s}`, key, value)
				}
				if got := read(t, method, result); !strings.Contains(got, "the needle") {
					t.Errorf("%s returned %s: %s", method, result, got)
				}
			}
		}
		asks := `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}},"requestState":"s"}`
		if got := string(shaped(method, json.RawMessage(asks))); got != asks {
			t.Errorf("%s: a result that asks for input became %s", method, got)
		}
		for _, empty := range []string{`null`, `{}`, `[]`, `""`, `true`, `5`} {
			read(t, method, empty)
		}
	}
	for _, content := range values {
		result := `{"messages":[{"role":"assistant","content":` + content + `},{"role":5,"content":` + content + `}]}`
		if got := read(t, "prompts/get", result); strings.Count(got, "the needle") != 2 || strings.Count(got, `"assistant"`) < 1 {
			t.Errorf("a prompt %s: %s", result, got)
		}
	}
	for method, key := range lists {
		if got := read(t, method, `[{"name":"needle","uri":"x:y","uriTemplate":"x:{y}","inputSchema":{"type":"object"}}]`); !strings.Contains(got, `"`+key+`":[{`) {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// TestRightResults checks that results of the right form stay as they are.
func TestRightResults(t *testing.T) {
	t.Parallel()
	for result, method := range map[string]string{
		`{"content":[{"type":"text","text":"a"}]}`: "tools/call", `{"task":{"taskId":"a","status":"working"}}`: "tools/call", `{}`: "tools/call", `{"structuredContent":{"a":1}}`: "tools/call",
		`{"messages":[{"role":"user","content":{"type":"text","text":"a"}}]}`: "prompts/get", `{"contents":[{"uri":"a:b","text":"x"}]}`: "resources/read", `"text"`: "other/method", `{"tools":[]}`: "tools/list",
	} {
		if got := shaped(method, json.RawMessage(result)); string(got) != result {
			t.Errorf("%s: %s became %s", method, result, got)
		}
	}
}

// read returns the result of a request as JSON after the SDK has decoded it.
func read(t *testing.T, method, result string) string {
	t.Helper()
	var d Dropped
	d.Sent([]byte(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{}}`))
	mended := d.Mend([]byte(`{"jsonrpc":"2.0","id":7,"result":` + result + `}`))
	if len(mended) != 1 {
		t.Errorf("%s, %s: %q", method, result, mended)
		return ""
	}
	var m struct{ Result json.RawMessage }
	if err := json.Unmarshal(mended[0], &m); err != nil {
		t.Fatal(err)
	}
	into := map[string]any{
		"tools/call": new(sdk.CallToolResult), "prompts/get": new(sdk.GetPromptResult), "resources/read": new(sdk.ReadResourceResult),
		"tools/list": new(sdk.ListToolsResult), "prompts/list": new(sdk.ListPromptsResult), "resources/list": new(sdk.ListResourcesResult), "resources/templates/list": new(sdk.ListResourceTemplatesResult),
	}[method]
	if err := json.Unmarshal(m.Result, into); err != nil {
		t.Errorf("%s, %s: %s cannot be read: %v", method, result, m.Result, err)
		return ""
	}
	out, err := json.Marshal(into)
	if err != nil {
		t.Errorf("%s, %s: %v", method, result, err)
	}
	return string(out)
}
