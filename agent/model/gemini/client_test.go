package gemini_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini"
	"github.com/hermes-ls/hermes-ls/agent/model/gemini/geminitest"
)

// TestClient checks the retries of the client: it omits refused signatures, repeats the request
// at once, and continues a paused response.
func TestClient(t *testing.T) {
	t.Parallel()
	s := geminitest.New(
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Thought("Hm."), geminitest.Call(read, `{}`)}},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("One ")}, Finish: "CONTINUATION"},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("and ")}, Finish: "CONTINUATION"},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("two.")}},
		geminitest.Reply{Parts: []geminitest.Part{geminitest.Text("Bye.")}},
	)
	server := httptest.NewServer(s)
	defer server.Close()
	m := client.New(client.Config{Endpoints: []client.Endpoint{{API: gemini.API{}, Provider: "gemini", BaseURL: server.URL + "/v1beta", Model: "gemini-3-pro-preview", Keys: []string{"AIza-one"}}}})
	defer m.Close()
	req := &model.Request{System: "s", Effort: "low", Tools: []model.Tool{{Name: read}}, Messages: []model.Message{user("Look.")}}
	ask := func() (*model.Reply, *model.Origin) {
		t.Helper()
		reply := new(model.Reply)
		var dropped *model.Origin
		for d, err := range m.Stream(t.Context(), req) {
			if err != nil {
				for _, r := range s.Requests() {
					t.Logf("%s %s", r.Error, r.Body)
				}
				t.Fatal(err)
			}
			if d.Dropped != nil {
				dropped = d.Dropped
			}
			if err := reply.Add(d); err != nil {
				t.Fatal(err)
			}
		}
		return reply, dropped
	}
	first, _ := ask()
	parts := first.Parts()
	state := *parts[1].State
	state.Data = []byte(strings.Replace(string(state.Data), `"signature":"`, `"signature":"AAAA`, 1))
	parts[1].State = &state
	req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: parts}, result(first.Calls[0], "text"))
	second, dropped := ask()
	if second.Text != "One and two." || second.Finish != model.FinishStop || dropped == nil || dropped.API != "gemini" {
		t.Errorf("%+v %+v", second, dropped)
	}
	if requests := s.Requests(); len(requests) != 5 || !strings.Contains(requests[1].Error, "Corrupted") || !strings.Contains(string(requests[2].Body), "skip_thought") {
		for _, r := range requests {
			t.Errorf("%s %s", r.Error, r.Body)
		}
	}
	req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: second.Parts()}, user("Bye."))
	if third, _ := ask(); third.Text != "Bye." {
		t.Errorf("%+v", third)
	}
}
