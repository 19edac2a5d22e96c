//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNeovimFeedback answers the line below the answer of a hard turn: <CR> on it shows the choices.
func TestNeovimFeedback(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			var failing []string
			for i := range 15 {
				failing = append(failing, fmt.Sprintf(`{"call":{"name":"read_file","args":{"path":"gone%d.txt"}}}`, i))
			}
			p.send("Read it", "["+strings.Join(failing, ",")+"]", `[{"text":"Not there."}]`)
			p.wait("Worked: keep it as a skill · Worked")
			p.lua(`vim.fn.search("keep it as a skill", "bw")`)
			p.keys("Enter")
			p.wait("How did it go?", "1: Worked: keep it as a skill", "4: Do not ask again")
			p.line("4")
			p.wait("You are not asked again.")
			if data, err := os.ReadFile(filepath.Join(b.home, "extensions", "feedback.json")); err != nil || !strings.Contains(string(data), `"off":true`) {
				t.Errorf("the record is %s, %v", data, err)
			}
		})
	}
}
