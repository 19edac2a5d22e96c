//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
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

// TestMessages connects the program to the strict stand-in for the Messages API, in two processes:
// thinking, parallel calls, one of them under another agent's name, an image, and a paused reply.
// Then the server refuses all earlier thinking, and the model a prompt.
func TestMessages(t *testing.T) {
	t.Parallel()
	think := func(blocks ...standin.Block) standin.Reply {
		return standin.Reply{Blocks: append([]standin.Block{standin.Thinking("Hm."), standin.Redacted()}, blocks...)}
	}
	pause := think(standin.Text("First, "), standin.Block{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": map[string]any{}})
	pause.Stop = "pause_turn"
	s := &standin.Server{Key: "k", Models: []string{"claude-opus-5-5"}, Next: standin.Script(
		think(standin.Text("I look."), standin.Call("toolu_1", "read_file", `{"path": "a.txt"}`), standin.Call("toolu_2", "Read", `{"file_path":"b.txt"}`)),
		think(standin.Call("toolu_3", "write_file", `{"content":"<é>\n","path":"c.txt"}`)),
		think(standin.Text("Both are read.")),
		pause,
		think(standin.Text("then.")),
		think(standin.Text("Forgotten.")),
		think(standin.Text("The end.")),
		standin.Reply{Blocks: []standin.Block{standin.Text("I will")}, Stop: "refusal", Refusal: "The reason of the provider."},
		think(standin.Text("Something else.")),
	)}
	server := httptest.NewServer(unprobed(s))
	defer server.Close()
	b := newBed(t, map[string]string{"a.txt": "one\n", "b.txt": "two\n"})
	write(t, filepath.Join(b.home, "config.yaml"), "approvals: {mode: off}\nmodel: {provider: custom, base_url: \""+server.URL+"/anthropic\", default: claude-opus-5-5, api_key: k}\n")
	prompt := func(l *line, session, text string, more ...any) string {
		t.Helper()
		var said strings.Builder // text, thinking and notices
		var done struct{ StopReason string }
		p := map[string]any{"sessionId": session, "prompt": append([]any{map[string]any{"type": "text", "text": text}}, more...)}
		l.call("session/prompt", p, &done, func(f frame) {
			if strings.HasPrefix(f.Params.Update.SessionUpdate, "agent_") {
				said.WriteString(f.text())
			}
		})
		return done.StopReason + ": " + said.String()
	}

	l := b.line(t)
	session := l.newSession(b.workspace)
	image := map[string]any{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"}
	if got := prompt(l, session, "Read both.", image); got != "end_turn: Hm.I look.Hm.Hm.Both are read." {
		t.Errorf("turn 1: %q", got)
	}
	l.end()
	l = b.line(t)
	l.call("session/load", map[string]any{"sessionId": session, "cwd": b.workspace, "mcpServers": []any{}}, nil, nil)
	if got := prompt(l, session, "Go on."); got != "end_turn: Hm.First, Hm.then." {
		t.Errorf("turn 2: %q", got)
	}
	for i, r := range s.Requests() {
		if marks := strings.Count(string(r.Body), `"cache_control"`); r.Rejected != "" || marks > 3 {
			t.Errorf("request %d: %d marks, %s", i, marks, r.Rejected)
		}
		if i > 0 && r.Cached == 0 {
			t.Errorf("request %d reads nothing from the cache", i)
		}
	}
	accepted := len(s.Requests())
	s.Forget()
	for n, want := range []string{"end_turn: Hm.Forgotten.", "end_turn: Hm.The end."} {
		if got := prompt(l, session, "And now?"); got != want {
			t.Errorf("turn %d: %q", n+3, got)
		}
	}
	if got := prompt(l, session, "Forbidden."); !strings.HasPrefix(got, "refusal: ") || !strings.Contains(got, "The reason of the provider.") {
		t.Errorf("turn 5: %q", got)
	}
	if got := prompt(l, session, "Allowed."); got != "end_turn: Hm.Something else." {
		t.Errorf("turn 6: %q", got)
	}
	l.end()
	if all := s.Requests(); strings.Contains(string(all[len(all)-1].Body), "Forbidden.") {
		t.Error("the refused prompt was sent again")
	}
	var rejected []bool
	for _, r := range s.Requests()[accepted:] {
		rejected = append(rejected, r.Rejected != "")
	}
	if !reflect.DeepEqual(rejected, []bool{true, false, false, false, false}) {
		t.Errorf("rejected after the server has forgotten: %v", rejected)
	}
}
