//go:build e2e

package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
)

// aimock starts the npm package of this name, an independent server of all model APIs, with
// fixtures. It returns the server's URL.
func aimock(t *testing.T, fixtures string) string {
	t.Helper()
	program := filepath.Join(nodeModules(t), "@copilotkit", "aimock", "dist", "cli.js")
	path := filepath.Join(t.TempDir(), "fixtures.json")
	write(t, path, fixtures)
	cmd := exec.CommandContext(t.Context(), found(t, "node"), program, "-p", "0", "-f", path, "--strict")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			go func() { // so the server is never blocked
				for lines.Scan() {
				}
			}()
			return strings.TrimSpace(url)
		}
	}
	t.Fatal("aimock did not start")
	return ""
}

// TestAimock plays a tool loop with thinking against an independent server of the model APIs. The
// server checks that the thinking is sent back.
func TestAimock(t *testing.T) {
	t.Parallel()
	url := aimock(t, `{"fixtures": [
		{"match": {"userMessage": "look", "hasToolResult": false}, "response": {"reasoning": "Look at \"both\".", "content": "I look.",
			"toolCalls": [{"id": "toolu_1", "name": "read", "arguments": {"path": "<é>"}}, {"id": "toolu_2", "name": "list", "arguments": {}}]}},
		{"match": {"toolCallId": "toolu_2"}, "response": {"reasoning": "Done.", "content": "All good."}}
	]}`)
	for _, e := range []client.Endpoint{
		{API: messages.API{}, Provider: "anthropic", Model: "claude-sonnet-4-5"},
		{API: messages.API{}, Provider: "anthropic", Model: "claude-opus-4-6"},
		{API: responses.API{}, Provider: "openai", Model: "gpt-5"},
		{API: gemini.API{}, Provider: "gemini", Model: "gemini-3-pro-preview"},
		{API: gemini.API{}, Provider: "gemini", Model: "gemini-2.5-flash"},
	} {
		e.BaseURL = url
		playToolLoop(t, e, `Look at "both". I look. {"path":"<é>"} {}`, "Done. All good.")
	}
}

// playToolLoop sends a prompt and then the results of the calls. wants contain the reasoning, the
// text and the arguments of each response.
func playToolLoop(t *testing.T, e client.Endpoint, wants ...string) {
	t.Helper()
	e.Keys = []string{"k"}
	m := client.New(client.Config{Endpoints: []client.Endpoint{e}})
	defer m.Close()
	req := &model.Request{Effort: "high", System: "s", Messages: []model.Message{model.NewMessage(model.User, "look")},
		Tools: []model.Tool{{Name: "read", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "list"}}}
	for n, want := range wants {
		reply := new(model.Reply)
		for d, err := range m.Stream(t.Context(), req) {
			if err != nil {
				t.Fatalf("%s %s, request %d: %v", e.API.Name(), e.Model, n, err)
			}
			if err := reply.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		got := reply.Reasoning + " " + reply.Text
		for _, c := range reply.Calls {
			got += " " + c.Args
		}
		if got != want {
			t.Errorf("%s %s, request %d: %q, want %q", e.API.Name(), e.Model, n, got, want)
		}
		req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: reply.Parts()})
		for _, c := range reply.Calls {
			req.Messages = append(req.Messages, model.ResultMessage(c.ID, c.Name, "found"))
		}
	}
}
