//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/gemini/geminitest"
	"github.com/hermes-ls/hermes-ls/agent/model/responses/responsestest"
)

// runSDK runs a script with an official Python SDK against a server and decodes its report.
func runSDK(t *testing.T, script string, h http.Handler, report any) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	path := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.CommandContext(t.Context(), pythonClient(t), filepath.Join(root(t), "e2e", "python", script))
	cmd.Env = append(os.Environ(), "STANDIN_URL="+server.URL, "HERMES_REPORT="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, report); err != nil {
		t.Fatal(err)
	}
}

// compare compares the fields of a report.
func compare(t *testing.T, fields map[string][2]any) {
	t.Helper()
	for name, f := range fields {
		if !reflect.DeepEqual(f[0], f[1]) {
			t.Errorf("%s: %v, want %v", name, f[0], f[1])
		}
	}
}

// TestOpenAISDK has OpenAI's official Python SDK talk with the stand-in for the Responses
// API. If the SDK understands each response, the stand-in can judge our own client.
func TestOpenAISDK(t *testing.T) {
	t.Parallel()
	s := responsestest.New(
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("Both.\n\nAt once."), responsestest.Phase("commentary", "I \"look\" ✓."),
			responsestest.Call("read", `{"path":"é\n"}`), responsestest.Call("read", `{}`)}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning(""), responsestest.Phase("final_answer", "All good.")}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Refusal("I cannot.")}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Text("Half")}, Incomplete: "max_output_tokens"},
		responsestest.Reply{Status: 429, Failed: &responsestest.Error{Code: "rate_limit_exceeded", Message: "Slow down."}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Text("Half")}, Event: &responsestest.Error{Code: "server_error", Message: "Sorry."}},
	)
	s.Keys = []string{"k"}
	var r struct {
		Types, Summaries    [][]string
		Texts, Phases       []string
		Arguments, Events   []string
		Cached              []int
		Errors              map[string]string
		Refusal, Incomplete string
	}
	runSDK(t, "openai_sdk.py", s, &r)
	compare(t, map[string][2]any{
		"types":      {r.Types, [][]string{{"reasoning", "message", "function_call", "function_call"}, {"reasoning", "message"}, {"message"}}},
		"texts":      {r.Texts, []string{"I \"look\" ✓.", "All good.", ""}},
		"summaries":  {r.Summaries, [][]string{{"Both.", "At once."}, {}}},
		"phases":     {r.Phases, []string{"commentary", "final_answer", ""}},
		"arguments":  {r.Arguments, []string{`{"path":"é\n"}`, `{}`}},
		"refusal":    {r.Refusal, "I cannot."},
		"incomplete": {r.Incomplete, "max_output_tokens"},
		"errors": {r.Errors, map[string]string{
			"rate limit": "RateLimitError: rate_limit_exceeded", "event": "event: server_error", "store": "BadRequestError: None", "effort": "BadRequestError: unsupported_value",
			"result": "BadRequestError: None", "reasoning": "BadRequestError: invalid_encrypted_content", "key": "AuthenticationError: invalid_api_key"}},
	})
	if len(r.Cached) != 3 || r.Cached[0] != 0 || r.Cached[1] == 0 {
		t.Errorf("cached tokens: %v", r.Cached)
	}
	if events := strings.Join(r.Events, " "); !strings.Contains(events, "response.reasoning_summary_text.delta") || !strings.Contains(events, "response.function_call_arguments.done") || !strings.Contains(events, "response.completed") {
		t.Errorf("events: %s", events)
	}
	for i, req := range s.Requests() {
		if i < 4 && req.Error != "" {
			t.Errorf("request %d: %s", i, req.Error)
		}
	}
}

// TestGenAISDK has Google's official Python SDK talk with the stand-in for the Gemini API.
func TestGenAISDK(t *testing.T) {
	t.Parallel()
	s := geminitest.New(
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Thought("Both at once."), geminitest.Text("I \"look\" ✓."), geminitest.Call("read", `{"path":"é\n"}`), geminitest.Call("read", "")}},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("All ")}, Finish: "CONTINUATION"},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("good.")}},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("Half")}, Finish: "MAX_TOKENS", Trailing: true},
		geminitest.Reply{Block: "SAFETY"},
		geminitest.Reply{Status: 503, Error: `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`},
	)
	s.Keys, s.IDs = []string{"k"}, true
	var r struct {
		Texts, Thoughts, Finish []string
		Args                    []map[string]string
		Usage                   [][]any
		Signatures              int
		Errors                  map[string]string
		Blocked                 string
	}
	runSDK(t, "genai_sdk.py", s, &r)
	compare(t, map[string][2]any{
		"texts":      {r.Texts, []string{"I \"look\" ✓.", "All good.", "Half"}},
		"thoughts":   {r.Thoughts, []string{"Both at once.", "", ""}},
		"finish":     {r.Finish, []string{"STOP", "STOP", "MAX_TOKENS"}},
		"args":       {r.Args, []map[string]string{{"path": "é\n"}, nil}},
		"signatures": {r.Signatures, 4},
		"blocked":    {r.Blocked, "SAFETY"},
		"errors": {r.Errors, map[string]string{"overloaded": "503 UNAVAILABLE", "key": "400 INVALID_ARGUMENT", "level": "400 INVALID_ARGUMENT",
			"no result": "400 INVALID_ARGUMENT", "no signature": "400 INVALID_ARGUMENT"}},
	})
	for i, req := range s.Requests() {
		if i < 6 && req.Error != "" {
			t.Errorf("request %d: %s", i, req.Error)
		}
	}
}
