package sandbox

import (
	"path/filepath"
	"strings"
	"testing"
)

// holding returns the mechanisms of this host that hold places by mounts, one of each kind.
func holding(t *testing.T) (all []Mechanism) {
	t.Helper()
	for _, m := range here(t) {
		if m.Processes {
			all = append(all, m)
		}
	}
	return all
}

func TestOpening(t *testing.T) {
	t.Parallel()
	for _, m := range holding(t) {
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			v.write("ws/.vscode/tasks.json", "tasks")
			v.write("ws/run.sh", "echo judged")
			all := v.box
			v.box = all.With(Opening{
				Open:   []string{filepath.Join(v.ws, ".vscode/settings.json")},
				Frozen: map[string][]byte{filepath.Join(v.ws, "run.sh"): []byte("echo judged")},
			})
			v.write("ws/run.sh", "echo swapped")
			out := v.run(`sh run.sh; echo x > run.sh; rm -f run.sh; mv a.txt run.sh; sh run.sh
echo new > .vscode/settings.json; echo x > .vscode/tasks.json; rm -f .vscode/tasks.json; echo x > .envrc`)
			if strings.Count(out, "judged\n") != 2 || strings.Contains(out, "swapped\n") {
				t.Error(out)
			}
			if !v.has("ws/.vscode/settings.json", "new") || !v.has("ws/.vscode/tasks.json", "tasks") || !v.has("ws/.envrc", "direnv") {
				t.Error("open is what was not named, or closed what was", out)
			}
			v.box = all
			if out := v.run(`sh run.sh; echo more > .vscode/settings.json`); !strings.Contains(out, "swapped") || v.has("ws/.vscode/settings.json", "more") {
				t.Error("the next command has the same opening", out)
			}
		})
	}
}
