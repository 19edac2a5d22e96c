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

type hostCall struct {
	IsError       bool
	Text, Session string
	StopReason    string `json:"stop_reason"`
	Notices       []string
	Sessions      []struct{ Session, Title, Cwd, Match string }
	Reports       []struct{ Status, Summary string }
}

type hostReport struct {
	Asked []struct {
		Message         string
		RequestedSchema struct {
			Properties struct{ Answer struct{ Enum []string } }
		}
	}
	Progress, Tools                                                         []string
	Write, Question, Again, List, Found, Command, Delegated, Outside, Below hostCall
	Cancelled                                                               string
}

// TestMCPServe calls the tools of `hermes-ls mcp serve` with the official SDK, as a host whose
// user allows, denies, or cannot be asked.
func TestMCPServe(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"allow", "deny", "none"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"build/a.txt": "a\n"})
			var r hostReport
			out := b.output(t, newNode(t), filepath.Join(root(t), "e2e", "node", "mcphost.mjs"), user)
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if want := []string{"delegate", "prompt", "sessions"}; !slices.Equal(r.Tools, want) {
				t.Errorf("tools %v", r.Tools)
			}
			if data, err := os.ReadFile(filepath.Join(b.workspace, "made.txt")); err != nil || string(data) != "made\n" {
				t.Errorf("made.txt: %q, %v", data, err)
			}
			_, err := os.Stat(filepath.Join(b.workspace, "build"))
			if removed := os.IsNotExist(err); removed != (user == "allow") {
				t.Errorf("build was removed: %v", removed)
			}
			if denied := slices.ContainsFunc(r.Write.Notices, func(n string) bool { return strings.Contains(n, "this host cannot ask the user: mkdir -p build") }); denied != (user == "none") {
				t.Errorf("notices %q", r.Write.Notices)
			}
			checkHostQuestions(t, user, r)
			if r.Write.Text != "Wrote it." || r.Write.StopReason != "end_turn" || r.Again.Text != "Again." || r.Again.Session != r.Write.Session || r.Below.Text != "Below." {
				t.Errorf("answers: %+v, %+v, %+v", r.Write, r.Again, r.Below)
			}
			if len(r.List.Sessions) != 2 || r.List.Sessions[0].Cwd != b.workspace || len(r.Found.Sessions) == 0 || r.Found.Sessions[0].Session != r.Write.Session {
				t.Errorf("sessions: %+v, found: %+v", r.List, r.Found)
			}
			if d := r.Delegated.Reports; len(d) != 2 || d[0].Summary != "First." || d[1].Summary != "Second." || d[1].Status != "completed" {
				t.Errorf("delegated: %+v", r.Delegated)
			}
			if r.Command.Text != "Sent as text." { // a model of the host may have written it, so it changes no setting
				t.Errorf("a slash command: %+v", r.Command)
			}
			if !r.Outside.IsError || !strings.Contains(r.Outside.Text, "outside of the folders of the host") {
				t.Errorf("outside: %+v", r.Outside)
			}
			if !slices.Contains(r.Progress, "Write made.txt") || !strings.Contains(r.Cancelled, "abort") {
				t.Errorf("progress %q, cancelled %q", r.Progress, r.Cancelled)
			}
		})
	}
}

func checkHostQuestions(t *testing.T, user string, r hostReport) {
	t.Helper()
	if user == "none" {
		if len(r.Asked) != 0 {
			t.Errorf("asked %+v", r.Asked)
		}
		return
	}
	if len(r.Asked) != 2 {
		t.Fatalf("asked %+v", r.Asked)
	}
	if q := r.Asked[0]; !strings.HasPrefix(q.Message, "Hermes asks for approval: mkdir -p build && rm -rf build") ||
		!slices.Equal(q.RequestedSchema.Properties.Answer.Enum, []string{"Allow once", "Allow for this session", "Always allow", "Deny"}) {
		t.Errorf("the approval request is %+v", q)
	}
	if !strings.Contains(r.Asked[1].Message, "Which color?") {
		t.Errorf("the question is %+v", r.Asked[1])
	}
}
