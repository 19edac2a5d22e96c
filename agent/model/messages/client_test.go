package messages_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/messages"
	"github.com/hermes-ls/hermes-ls/agent/model/messages/standin"
)

// ask sends a request through the client of all APIs.
func ask(t *testing.T, m *client.Model, req *model.Request) (reply *model.Reply, dropped *model.Origin) {
	t.Helper()
	reply = new(model.Reply)
	for d, err := range m.Stream(t.Context(), req) {
		if err != nil {
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

// TestThroughTheClient plays a conversation through the client: a bad key beside a good key, an
// overloaded server, a paused reply, and refused state.
func TestThroughTheClient(t *testing.T) {
	t.Parallel()
	s := &standin.Server{Key: "good", Next: standin.Script(
		standin.Reply{Status: 529, Error: "overloaded_error", Text: "Overloaded", Header: map[string][]string{"Retry-After-Ms": {"1"}}},
		standin.Reply{Blocks: []standin.Block{standin.Text("Half "), {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": map[string]any{"q": "x"}}}, Stop: "pause_turn"},
		standin.Reply{Blocks: []standin.Block{standin.Thinking("Hm."), standin.Text("and half."), standin.Call("toolu_1", "read", `{"path":"a"}`)}},
		standin.Reply{Blocks: []standin.Block{standin.Text("Done.")}},
	)}
	h := httptest.NewServer(s)
	defer h.Close()
	yes := true
	m := client.New(client.Config{Endpoints: []client.Endpoint{{
		API: messages.API{}, Provider: "anthropic", BaseURL: h.URL, Model: "claude-opus-5-5", Keys: []string{"bad", "good"},
		Known: client.Facts{Window: 200_000, Images: &yes},
	}}})
	defer m.Close()
	req := &model.Request{System: strings.Repeat("s ", 500), Tools: []model.Tool{{Name: "read"}}, Messages: []model.Message{prompt("go")}, SessionID: "one"}

	reply, dropped := ask(t, m, req)
	if reply.Text != "Half and half." || reply.Reasoning != "Hm." || len(reply.Calls) != 1 || reply.Finish != model.FinishCalls || dropped != nil {
		t.Fatalf("%+v, dropped %v", reply, dropped)
	}
	step(req, reply)
	s.Forget()
	reply, dropped = ask(t, m, req)
	if reply.Text != "Done." || dropped == nil || *dropped != (model.Origin{API: "messages", Host: strings.TrimPrefix(h.URL, "http://")}) {
		t.Fatalf("%+v, dropped %v", reply, dropped)
	}
	for i, r := range s.Requests() {
		want := ""
		switch i {
		case 0:
			want = "401"
		case 4:
			want = "400"
		}
		if !strings.HasPrefix(r.Rejected, want) || want == "" && r.Rejected != "" {
			t.Errorf("request %d: %q", i, r.Rejected)
		}
	}
}
