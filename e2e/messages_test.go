//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/messages/standin"
)

// TestAnthropicSDK has Anthropic's official Python SDK talk with the stand-in for its API.
// If the SDK understands each reply, the stand-in can judge our own client.
func TestAnthropicSDK(t *testing.T) {
	t.Parallel()
	s := &standin.Server{Key: "k", Next: standin.Script(
		standin.Reply{Blocks: []standin.Block{standin.Thinking("Look at both."), standin.Redacted(), standin.Text("I look."),
			standin.Call("toolu_1", "read", `{"path": "é\n"}`), standin.Call("toolu_2", "list", `{}`)}},
		standin.Reply{Blocks: []standin.Block{standin.Thinking("Done."), standin.Text("All good.")}},
		standin.Reply{Blocks: []standin.Block{standin.Text("Not this.")}, Stop: "refusal", Refusal: "A reason."},
		standin.Reply{Status: 429, Error: "rate_limit_error", Text: "Slow down"},
		standin.Reply{Blocks: []standin.Block{standin.Text("Some")}, Error: "overloaded_error", Text: "Overloaded"},
	)}
	server := httptest.NewServer(s)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(t.Context(), pythonClient(t), filepath.Join(root(t), "e2e", "python", "anthropic_sdk.py"))
	cmd.Env = append(os.Environ(), "STANDIN_URL="+server.URL, "HERMES_REPORT="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Stops    []string
		Blocks   [][]string
		Cached   []int
		Inputs   []map[string]string
		Thinking string
		Refusal  string
		Errors   map[string]string
		Events   []string
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	check := func(name string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	check("stops", r.Stops, []string{"tool_use", "end_turn", "refusal"})
	check("blocks", r.Blocks, [][]string{{"thinking", "redacted_thinking", "text", "tool_use", "tool_use"}, {"thinking", "text"}, {"text"}})
	check("inputs", r.Inputs, []map[string]string{{"path": "é\n"}, {}})
	check("thinking", r.Thinking, "Look at both.")
	check("refusal", r.Refusal, "A reason.")
	check("errors", r.Errors, map[string]string{
		"key": "AuthenticationError: authentication_error", "system": "BadRequestError: invalid_request_error", "budget": "BadRequestError: invalid_request_error",
		"rate limit": "RateLimitError: rate_limit_error", "overloaded": "APIStatusError: overloaded_error"})
	check("events", r.Events, []string{"message_start", "content_block_start", "content_block_delta", "thinking", "signature", "content_block_stop", "text", "input_json", "message_delta", "message_stop"})
	if len(r.Cached) != 3 || r.Cached[0] != 0 || r.Cached[1] == 0 || r.Cached[2] <= r.Cached[1] {
		t.Errorf("cached tokens: %v", r.Cached)
	}
	for i, req := range s.Requests() {
		if i < 3 && req.Rejected != "" {
			t.Errorf("request %d: %s", i, req.Rejected)
		}
	}
}
