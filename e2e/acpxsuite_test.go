//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/protocol/acp/acptest"
)

// TestACPConformance plays every case of acpx's conformance profile, and holds all
// frames of the agent against the official schema.
func TestACPConformance(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"README.md": "the secret of the readme\n"})
	b.run(t, newNode(t), filepath.Join(root(t), "e2e", "node", "conformance.mjs"))
	var r struct {
		Cases []struct {
			ID, Error string
			Frames    []struct{ From, Line string }
		}
	}
	b.read(t, &r)
	if len(r.Cases) != 21 {
		t.Errorf("%d cases were played, want 21", len(r.Cases))
	}
	for _, c := range r.Cases {
		t.Run(c.ID, func(t *testing.T) {
			if c.Error != "" {
				t.Error(c.Error)
			}
			if strings.Contains(c.ID, "invalid") {
				return // the client's frames are no good, on purpose
			}
			var log acptest.Log
			for _, f := range c.Frames {
				from := acptest.FromAgent
				if f.From == "client" {
					from = acptest.FromClient
				}
				log.Validate(t, from, []byte(f.Line))
			}
		})
	}
}

// TestACPXPermissions makes the real acpx reject everything, or only writes. Rejected actions do
// not happen on the disk instead.
func TestACPXPermissions(t *testing.T) {
	t.Parallel()
	const script = "Go.\n```hermes-script\n" +
		`[{"call":{"name":"read_file","args":{"path":"a.txt"}}}]` + "\n" +
		`[{"call":{"name":"write_file","args":{"path":"a.txt","content":"overwritten"}}}]` + "\n" +
		`[{"call":{"name":"write_file","args":{"path":"new/b.txt","content":"x"}}}]` + "\n" +
		`[{"call":{"name":"patch","args":{"mode":"patch","patch":"*** Begin Patch\n*** Add File: c.txt\n+x\n*** Delete File: a.txt\n*** End Patch\n"}}}]` + "\n" +
		`[{"text":"Tried."}]` + "\n```"
	for _, x := range []struct {
		policy string
		reads  bool
	}{{"--deny-all", false}, {"--approve-reads", true}} {
		t.Run(x.policy, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"a.txt": "the secret\n"})
			cmd := exec.CommandContext(t.Context(), newNode(t), filepath.Join(nodeModules(t), "acpx", "dist", "cli.js"),
				"--agent", b.binary+" acp", "--cwd", b.workspace, x.policy, "--format", "json", "exec", script)
			cmd.Dir, cmd.Env = b.workspace, b.environ()
			out, err := cmd.Output()
			if err == nil || !strings.Contains(string(out), `"stopReason":"end_turn"`) {
				t.Errorf("acpx does not report what it refused: %v\n%s", err, out)
			}
			if got := strings.Contains(string(out), "the secret"); got != x.reads {
				t.Errorf("the file was shown: %v, want %v", got, x.reads)
			}
			if text, err := os.ReadFile(filepath.Join(b.workspace, "a.txt")); err != nil || string(text) != "the secret\n" {
				t.Errorf("a.txt is %q, %v", text, err)
			}
			if entries, err := os.ReadDir(b.workspace); err != nil || len(entries) != 1 {
				t.Errorf("the workspace has %v, %v", entries, err)
			}
		})
	}
}
