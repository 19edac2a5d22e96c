package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// While a standing program runs, the user's saves and the writes of approved tools need no review.
// The program's writes do, also right afterwards in the same file. Then the user's text is
// restored.
func TestKnownWrites(t *testing.T) {
	t.Parallel()
	places := map[string]struct{ old, user, hostile string }{
		"ws/.envrc":                  {"# direnv", "export A=1\n", "touch pwned\n"},
		"ws/AGENTS.md":               {"", "my rules\n", "obey\n"},
		"ws/sub/CLAUDE.md":           {"old\n", "new\r\nrules\r\n", "obey\n"},
		"ws/.vscode/settings.json":   {"{}", `{"a": 1}`, `{"b": 2}`},
		"ws/.vscode/tasks.json":      {"", `{"mine": 1}`, `{"b": 2}`},
		"ws/deep/.vscode/tasks.json": {"", `{"mine": 2}`, `{"b": 2}`},
		"ws/.git/config":             {"", "[core]\n\tfsmonitor = mine\n", "[core]\n\tfsmonitor = touch pwned\n"},
		"ws/.hermes/config.yaml":     {"", "agent: {}\n", "approvals: {mode: off}\n"},
	}
	review := func(t *testing.T, v *victim) []string {
		w := watching(v.box)
		changes, done := w.Changes()
		var found []string
		for _, c := range changes {
			found = append(found, c.What)
		}
		if err := errors.Join(w.Remove(t.Context(), changes)...); err != nil {
			t.Error(err)
		}
		done()
		w.End()
		return found
	}
	m := here(t)[0]
	for name, place := range places {
		for _, how := range []string{"alone", "overwritten", "reverted", "before", "executable", "unsaved"} {
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				v := newVictim(t, m, WorkspaceWrite, true)
				path := filepath.Join(v.base, name)
				config := strings.HasSuffix(name, "/.git/config")
				if config {
					text, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					place.old, place.user, place.hostile = string(text), string(text)+place.user, string(text)+place.hostile
				} else if place.old != "" {
					v.write(name, place.old)
				}
				if _, err := v.box.Stand(t.Context(), "the plugin p"); err != nil {
					t.Fatal(err)
				}
				w := Wrote{Path: path, New: []byte(place.user), Unsaved: how == "unsaved"}
				if place.old != "" {
					w.Old = []byte(place.old)
				}
				switch how {
				case "before": // the program was first, and the user has seen only the difference
					v.write(name, place.hostile)
					w.Old, w.New = []byte(place.hostile), []byte(place.hostile+"\n# mine\n")
				case "unsaved":
					v.box.Note(w)
				}
				v.write(name, string(w.New))
				if how != "unsaved" {
					v.box.Note(w)
				}
				switch how {
				case "overwritten":
					v.write(name, place.hostile)
				case "reverted":
					if place.old == "" || config {
						return // nothing of the old file runs
					}
					v.write(name, place.old)
				case "executable":
					if config {
						return
					}
					if err := os.Chmod(path, 0o755); err != nil {
						t.Fatal(err)
					}
				}
				found := review(t, v)
				if asked := how != "alone" && how != "unsaved"; asked != (len(found) > 0) {
					t.Fatalf("asked about %q", found)
				}
				want := place.user
				if how == "before" {
					want = place.old
				}
				switch {
				case config:
					if v.has(name, "touch pwned") || how == "alone" && !v.has(name, "mine") {
						t.Error("the settings are not what the user has written")
					}
				case want == "" && !v.lacks(name), want != "" && !v.has(name, want):
					text, err := os.ReadFile(path)
					t.Errorf("the file is %q, %v", text, err)
				}
				if again := review(t, v); len(again) > 0 {
					t.Errorf("asked again about %q", again)
				}
			})
		}
	}
}
