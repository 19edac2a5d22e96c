package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// A session can look into those that were in its workspace before it, and is offered
// to only then.
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

	p := past{s.opened(), second.ID(), cwd}
	talk, err := p.ReadSaid(t.Context(), first.ID(), found.Hits[0].MessageID, 10, false)
	if err != nil || len(talk.Messages) != 2 || talk.Messages[0].Text != "Which widget?" || talk.Earlier != 0 || talk.Later != 0 {
		t.Errorf("%+v, %v", talk, err)
	}
	for session, want := range map[string]string{elsewhere.ID(): "another workspace", "x": "there is no conversation"} {
		if _, err := p.ReadSaid(t.Context(), session, "", 10, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", session, err)
		}
	}
	if talk, err := p.ReadSaid(t.Context(), elsewhere.ID(), "", 10, true); err != nil || len(talk.Messages) != 2 {
		t.Errorf("%+v, %v", talk, err)
	}
	// A session that was begun without the tool goes on without it.
	head, err := s.opened().Session(t.Context(), first.ID())
	if err != nil || len(first.pastTool(t.Context(), head)) > 0 || len(second.pastTool(t.Context(), store.Session{Cwd: cwd})) != 1 {
		t.Error("offered to a session that was begun without it", err)
	}
}
