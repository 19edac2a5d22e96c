//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNeovimCareful: in mode careful, the request for an edit opens its diff, and a denial with a reason reaches the model.
func TestNeovimCareful(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			file := filepath.Join(b.home, "config.yaml")
			before, _ := os.ReadFile(file) // it may not exist
			write(t, file, string(before)+"approvals: {mode: careful}\n")
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			p.send("Mend total",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
				`[{"text":"I see."}]`)
			p.wait("1: Allow once", "3: Deny", "4: Deny with a reason", "5: Open the diff, then decide")
			p.line("5")
			p.wait("return a - b", "│      return a + b", "4: Deny with a reason") // side by side
			p.line("4")
			p.wait("Why not?")
			p.line("the sign is right")
			p.ended("Mend total", "I see.")
			text, err := os.ReadFile(filepath.Join(b.workspace, "shop.py"))
			if err != nil || !strings.Contains(string(text), "return a - b") {
				t.Errorf("the file has %q, %v", text, err)
			}
			list := exec.Command(b.binary, "sessions", "export", "--all")
			list.Env = append(os.Environ(), "HERMES_HOME="+b.home)
			out, err := list.Output()
			if err != nil || !strings.Contains(string(out), "Denied by the user: the sign is right") {
				t.Errorf("the model was told %s, %v", out, err)
			}
		})
	}
}
