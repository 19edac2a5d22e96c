package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/builder"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/history"
)

// session_search covers the workspace's earlier sessions. A session without earlier ones is not
// offered the tool.
func TestSessionSearch(t *testing.T) {
	t.Parallel()
	home, cwd, other := t.TempDir(), t.TempDir(), t.TempDir()
	results := map[string]string{}
	call := func(name, args string) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) { x.Call(name, "session_search", args); x.End() }
	}
	m := fakemodel.Script(answer("Use the blue widget."), answer("Another place."), call("found", `{"query":"blue widget"}`), answer("ok"))
	s := open(t, Options{Home: home, Model: m, Static: true})
	first, _ := session(t, s, cwd)
	prompt1(t, first, "Which widget?")
	elsewhere, _ := session(t, s, other)
	prompt1(t, elsewhere, "Where is the blue widget?")
	second, g := session(t, s, cwd)
	prompt1(t, second, "Which one was it?")

	offered := func(r *model.Request) bool {
		return slices.ContainsFunc(r.Tools, func(t model.Tool) bool { return t.Name == "session_search" })
	}
	for i, want := range []bool{false, false, true, true} {
		if r := m.Requests()[i]; offered(r) != want {
			t.Errorf("request %d: offered %v", i+1, !want)
		}
	}
	g.mu.Lock()
	for _, e := range g.events {
		if e, ok := e.(agent.CallEnded); ok {
			results[e.Call.ID] = string(e.Result.JSON)
		}
	}
	g.mu.Unlock()
	var found struct {
		Hits []struct {
			SessionID string `json:"session_id"`
			MessageID string `json:"message_id"`
			Snippet   string `json:"snippet"`
		}
	}
	if err := json.Unmarshal([]byte(results["found"]), &found); err != nil || len(found.Hits) != 1 || found.Hits[0].SessionID != first.ID() || found.Hits[0].Snippet != "Use the blue widget." {
		t.Fatalf("%s, %v", results["found"], err)
	}

	p := history.StoredSessions(s.opened(), second.ID(), cwd)
	talk, err := p.ReadMessages(t.Context(), first.ID(), found.Hits[0].MessageID, 10, false)
	if err != nil || len(talk.Messages) != 2 || talk.Messages[0].Text != "Which widget?" || talk.Earlier != 0 || talk.Later != 0 {
		t.Errorf("%+v, %v", talk, err)
	}
	for session, want := range map[string]string{elsewhere.ID(): "another workspace", "x": "there is no session"} {
		if _, err := p.ReadMessages(t.Context(), session, "", 10, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", session, err)
		}
	}
	if talk, err := p.ReadMessages(t.Context(), elsewhere.ID(), "", 10, true); err != nil || len(talk.Messages) != 2 {
		t.Errorf("%+v, %v", talk, err)
	}
	// A session that started without the tool continues without it.
	for id, want := range map[string]int{first.ID(): 0, second.ID(): 1} {
		head, err := s.opened().Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := history.New(s.Store).Open(t.Context(), &extension.Session{ID: id, Cwd: cwd})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := opened.(extension.Tools).Tools(t.Context(), builder.StoredTools(head)); len(list) != want || err != nil {
			t.Errorf("%d tools of history, want %d: %v", len(list), want, err)
		}
	}
}
