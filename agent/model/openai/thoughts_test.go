package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
)

// TestReasoningFields checks reasoning in the fields of less common servers.
func TestReasoningFields(t *testing.T) {
	t.Parallel()
	for _, field := range []string{
		`"reasoning":"Hm."`, `"reasoning_content":"Hm."`, `"reasoning":"Hm.","reasoning_content":"Hm."`, `"thinking":"Hm."`, `"thinking":{"content":"Hm."}`,
		`"reasoning_text":"Hm."`, `"thought":"Hm."`, `"thoughts":["H",{"text":"m."}]`, `"reasoning":{"text":"Hm."}`, `"reasoning_content":[{"type":"text","text":"Hm."}]`,
		`"reasoning_details":[{"type":"reasoning.text","text":"Hm."}]`, `"content":null,"thinking_content":"Hm."`,
	} {
		m := modeltest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{%s}}]}\n\n", field)
			io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		})
		if r := talk(t, m, model.NewMessage(model.User, "x")); r.Reasoning != "Hm." || r.Text != "Hello" {
			t.Errorf("%s: reasoning %q, text %q", field, r.Reasoning, r.Text)
		}
	}
}

// TestPromptOpensThought checks a model whose prompt opens its thoughts. The client knows it
// after the first response, and does not send the thought back.
func TestPromptOpensThought(t *testing.T) {
	t.Parallel()
	m := modeltest.Serve(t, replies("Hm.\n</think>\n\nHello", "Hm.\n</think>\n\nHello", "Hello"))
	for _, want := range []string{"Hm.\n", "Hm.\n", "Hello"} { // the last response contains no thought, so it is repeated
		texts := ""
		var r model.Reply
		for d, err := range m.Stream(t.Context(), &model.Request{Messages: []model.Message{model.NewMessage(model.User, "x")}, Tools: someTools}) {
			if err != nil {
				t.Fatal(err)
			}
			texts += d.Text
			if err := r.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		if r.Text != "Hello" || r.Reasoning != want {
			t.Errorf("text %q, reasoning %q, shown as text %q", r.Text, r.Reasoning, texts)
		}
	}
}
