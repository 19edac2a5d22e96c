package file

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// In a read-only session the file tools ask before each edit.
func TestReadOnlyAsks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool  string
		args  map[string]string
		asked int
	}{
		{"write_file", map[string]string{"path": "a", "content": "new\n"}, 1},
		{"write_file", map[string]string{"path": "b", "content": "new\n"}, 1},
		{"patch", map[string]string{"path": "a", "old_string": "old", "new_string": "new"}, 1},
		{"patch", map[string]string{"mode": "patch", "patch": "*** Begin Patch\n*** Update File: a\n-old\n+new\n*** Add File: b\n+x\n*** End Patch\n"}, 1},
		{"patch", map[string]string{"mode": "patch", "patch": "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"}, 1},
		{"read_file", map[string]string{"path": "a"}, 0},
	} {
		for _, say := range []tools.Decision{tools.DecisionOnce, tools.DecisionDeny} {
			p := newPlace(t, map[string]string{"a": "old\n"})
			user := &answers{say: say}
			p.env.Gate = gate.New(gate.Config{Asker: user})
			p.env.Sandbox = sandbox.New(sandbox.Config{Mode: sandbox.ReadOnly, Roots: p.env.Files.Folders, Home: t.TempDir()})
			got := p.call(t, c.tool, c.args)
			if want := min(c.asked, map[tools.Decision]int{tools.DecisionOnce: 9, tools.DecisionDeny: 1}[say]); len(user.asked) != want {
				t.Errorf("%s %v, answered %s: asked %d times, want %d: %s", c.tool, c.args, say, len(user.asked), want, got.JSON)
			}
			if got.IsError != (say == tools.DecisionDeny && c.asked > 0) {
				t.Errorf("%s %v, answered %s: %s", c.tool, c.args, say, got.JSON)
			}
			if len(user.asked) > 0 && !strings.Contains(user.asked[0].Reason, "read-only (sandbox.mode)") {
				t.Errorf("reason %q", user.asked[0].Reason)
			}
		}
	}
}
