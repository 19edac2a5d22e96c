package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
)

// TestReasoningDetails checks the details of a response: they are merged and sent back with it,
// in each later request, only to their host.
func TestReasoningDetails(t *testing.T) {
	t.Parallel()
	const stream = `data: {"choices":[{"index":0,"delta":{"reasoning":"Let ","reasoning_details":[{"type":"reasoning.text","text":"Let ","index":0,"format":"anthropic-claude-v1"}]}}]}

data: {"choices":[{"index":0,"delta":{"reasoning":"me.","reasoning_details":[{"type":"reasoning.text","text":"me.","index":0}]}}]}

data: {"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"c2ln","index":0}]}}]}

data: {"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"ZW5j","id":"r1","index":1}]}}]}

data: {"choices":[{"index":0,"delta":{"reasoning_details":[null]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"todo","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}

data: [DONE]

`
	const want = `"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"c2ln","text":"Let me.","type":"reasoning.text"},{"data":"ZW5j","id":"r1","index":1,"type":"reasoning.encrypted"}]`
	rec := &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) { io.WriteString(w, stream) }}
	m := modeltest.Serve(t, rec.ServeHTTP, as("openrouter"))
	req := hello()
	r, _, err := modeltest.Ask(t.Context(), m, req)
	if err != nil || r.Reasoning != "Let me." {
		t.Fatal(r, err)
	}
	req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: r.Parts()}, model.ResultMessage("c1", "todo", "{}"))
	for range 2 {
		if _, _, err := modeltest.Ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
	}
	other := modeltest.Serve(t, rec.ServeHTTP, func(c *client.Config) { c.Endpoints[0].Model = "other" })
	if _, _, err := modeltest.Ask(t.Context(), other, req); err != nil {
		t.Fatal(err)
	}
	bodies := rec.Prompts()
	for i, body := range bodies[1:] {
		if got := strings.Contains(string(body), want); got != (i < 2) {
			t.Errorf("request %d: %s", i+2, body)
		}
	}
}
