package responses_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/responses"
	"github.com/hermes-ls/hermes-ls/agent/model/responses/responsestest"
)

// stream sends a request to a model and returns the merged response and the dropped
// origin.
func stream(t *testing.T, m model.Model, req *model.Request) (*model.Reply, *model.Origin, error) {
	t.Helper()
	reply := new(model.Reply)
	var dropped *model.Origin
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
			return reply, dropped, err
		}
		if d.Dropped != nil {
			dropped = d.Dropped
		}
		if err := reply.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return reply, dropped, nil
}

// TestClient checks the retries of the client: it omits rejected parameters and refused state,
// and repeats the request at once.
func TestClient(t *testing.T) {
	t.Parallel()
	s := responsestest.New(
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("Hm."), responsestest.Call(read, `{}`)}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Reasoning("So."), responsestest.Text("Done.")}},
		responsestest.Reply{Items: []responsestest.Item{responsestest.Text("Half")}, Event: &responsestest.Error{Code: "server_error", Message: "Sorry."}},
	)
	s.Unverified = true
	server := httptest.NewServer(s)
	defer server.Close()
	m := client.New(client.Config{Endpoints: []client.Endpoint{{API: responses.API{}, Provider: "openai", BaseURL: server.URL, Model: "gpt-5", Keys: []string{"sk-one"}}}})
	defer m.Close()
	req := &model.Request{System: "s", Effort: "low", Tools: []model.Tool{{Name: read}}, Messages: []model.Message{user("Look.")}}
	first, _, err := stream(t, m, req)
	if err != nil || len(first.Calls) != 1 {
		t.Fatalf("%+v %v", first, err)
	}
	state := *first.Parts()[0].State
	state.Data = []byte(strings.Replace(string(state.Data), "gAAAA", "gBBBB", 1)) // of another account
	parts := first.Parts()
	parts[0].State = &state
	req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: parts}, result(first.Calls[0], "text"))
	second, dropped, err := stream(t, m, req)
	if err != nil || second.Text != "Done." || dropped == nil || dropped.API != "responses" {
		t.Fatalf("%+v %+v %v", second, dropped, err)
	}
	requests := s.Requests()
	if len(requests) != 4 || !strings.Contains(requests[0].Error, "verified") || !strings.Contains(requests[2].Error, "encrypted content") || strings.Contains(string(requests[3].Body), "gBBBB") {
		for _, r := range requests {
			t.Errorf("%s %s", r.Error, r.Body)
		}
	}
	req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: second.Parts()[1:]}, user("More."))
	_, _, err = stream(t, m, req)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.ErrServer || failed.Endpoint == "" {
		t.Errorf("%v", err)
	}
}
