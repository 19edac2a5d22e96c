//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// acpReport contains the results of the official client.
type acpReport struct {
	SessionID string
	Info      struct{ ProtocolVersion int }
	Updates   []acpUpdate
	Replay    []acpUpdate
	Replayed  int // how many updates came before session/load was answered
	Asked     []struct {
		Options  []struct{ OptionID, Name, Kind string }
		ToolCall struct{ Title string }
	}
	Wrote  map[string]string
	Stops  []string
	Listed []struct{ SessionID, Cwd, Title string }
}

type acpUpdate struct {
	SessionUpdate string
	ToolCallID    string
	Title         string
	Status        string
	RawOutput     json.RawMessage
	Content       json.RawMessage
	Entries       []struct{ Content, Status string }
	Meta          struct {
		Hermes struct {
			Message string
			Calls   []struct{ Tool, Status string } `json:"sandbox_tool_calls"`
		}
	} `json:"_meta"`
}

func TestOfficialACPClient(t *testing.T) {
	t.Parallel()
	b := newBed(t, shopFiles)
	nodeModules(t)
	b.run(t, found(t, "node"), filepath.Join(root(t), "e2e", "node", "conversation.mjs"))
	var r acpReport
	b.read(t, &r)

	if r.Info.ProtocolVersion != 1 {
		t.Errorf("protocol version = %d", r.Info.ProtocolVersion)
	}
	if want := []string{"end_turn", "cancelled", "end_turn"}; !slices.Equal(r.Stops, want) {
		t.Errorf("stop reasons = %q, want %q", r.Stops, want)
	}
	for _, kind := range []string{"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan", "usage_update", "session_info_update"} {
		if !slices.ContainsFunc(r.Updates, func(u acpUpdate) bool { return u.SessionUpdate == kind }) {
			t.Errorf("no %s was sent", kind)
		}
	}
	wrote := r.Wrote[filepath.Join(b.workspace, "shop.py")]
	if want := "# typed, not saved\ndef total(a, b):\n    return a + b\n"; wrote != want {
		t.Errorf("the client was asked to write %q, want %q", wrote, want)
	}
	checkPermission(t, r)
	if _, err := os.Stat(filepath.Join(b.workspace, "build")); !os.IsNotExist(err) {
		t.Errorf("the command that was allowed did not run: %v", err)
	}
	if len(r.Listed) != 1 || r.Listed[0].SessionID != r.SessionID || !strings.HasPrefix(r.Listed[0].Title, "Please mend total") {
		t.Errorf("listed = %+v", r.Listed)
	}
	checkScript(t, r.Updates)
	checkScript(t, r.Replay)
	checkReplay(t, r)
}

// checkScript checks the script's output and its calls in the client's updates.
func checkScript(t *testing.T, updates []acpUpdate) {
	t.Helper()
	for _, u := range updates {
		var out struct{ Status, Output string }
		if json.Unmarshal(u.RawOutput, &out) != nil || out.Status == "" {
			continue
		}
		calls := u.Meta.Hermes.Calls
		if out.Status != "success" || out.Output != "sum: True 1\n" || len(calls) != 2 || calls[0].Tool != "read_file" || calls[1].Status != "completed" {
			t.Errorf("the script: %s, calls %+v", u.RawOutput, calls)
		}
		return
	}
	t.Error("the script has no result")
}

func checkPermission(t *testing.T, r acpReport) {
	t.Helper()
	if len(r.Asked) != 1 {
		t.Fatalf("asked %d times, want once", len(r.Asked))
	}
	var ids, kinds, names []string
	for _, o := range r.Asked[0].Options {
		ids, kinds, names = append(ids, o.OptionID), append(kinds, o.Kind), append(names, o.Name)
	}
	if want := []string{"Allow once", "Allow for this session: rm -rf build", "Always allow: rm -rf build", "Deny"}; !slices.Equal(names, want) {
		t.Errorf("names = %q, want %q", names, want)
	}
	if want := []string{"once", "session", "always", "no"}; !slices.Equal(ids, want) {
		t.Errorf("options = %q, want %q", ids, want)
	}
	if want := []string{"allow_once", "allow_always", "allow_always", "reject_once"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds = %q, want %q", kinds, want)
	}
	if !strings.Contains(r.Asked[0].ToolCall.Title, "rm -rf build") {
		t.Errorf("asked about %q", r.Asked[0].ToolCall.Title)
	}
}

// checkReplay wants every call of the killed process back, each with an end.
func checkReplay(t *testing.T, r acpReport) {
	t.Helper()
	ended := map[string]string{}
	var text strings.Builder
	for _, u := range r.Replay[:r.Replayed] {
		switch u.SessionUpdate {
		case "tool_call", "tool_call_update":
			if _, known := ended[u.ToolCallID]; !known || u.Status != "" {
				ended[u.ToolCallID] = u.Status
			}
		}
		text.Write(u.Content)
		text.Write(u.RawOutput)
	}
	if len(ended) != 7 {
		t.Errorf("%d calls were replayed, want 7", len(ended))
	}
	for id, status := range ended {
		if status != "completed" && status != "failed" {
			t.Errorf("call %s ends as %q", id, status)
		}
	}
	for _, want := range []string{"Please mend total", "I should look first.", "is right", "server stopped"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q was not replayed", want)
		}
	}
}
