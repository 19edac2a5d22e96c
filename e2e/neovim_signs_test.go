//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNeovimSigns marks the lines that the agent has changed. The user goes to them from a place in
// the answer, shows, reverts and accepts them. After a restart, the marks of what waits are there again.
func TestNeovimSigns(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			p.send("Mend total",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
				`[{"text":"The sign in shop.py:2 was wrong."}]`)
			p.wait("┃     return a + b", "● idle")
			p.keep(p.name("signs"))

			p.line(":call search('in shop.py:2 was', 'b')")
			p.keys("w", "g", "f")
			p.until("the cursor to be at the place", func() bool { return p.eval(`expand('%:t').':'.line('.')`) == "shop.py:2" })
			p.line("1G")
			p.line(":Hermes hunk")
			p.until("the cursor to be at the hunk", func() bool { return p.eval(`line('.')`) == "2" })
			p.line(":Hermes hunk preview")
			p.wait("-    return a - b", "+    return a + b")
			p.keep(p.name("hunk"))
			p.line("1G2G")
			p.line(":Hermes hunk revert")
			p.until("the hunk to be reverted", func() bool { return strings.Contains(p.eval(`getline(2)`), "a - b") })
			p.until("the sign to be gone", func() bool { return !strings.Contains(p.tmux("capture-pane", "-p"), "┃") })
			p.line(":silent undo")
			p.until("the change", func() bool { return strings.Contains(p.eval(`getline(2)`), "a + b") })
			p.line(":silent write")

			p.line(":qall!")
			p.until("Neovim to end", func() bool {
				return strings.Contains(p.tmux("list-sessions"), "no server") || strings.Contains(p.tmux("list-sessions"), "error")
			})
			p.start(t, "shop.py")
			p.wait("┃     return a + b")
			p.line(":2Hermes hunk accept")
			p.until("the sign to be gone", func() bool { return !strings.Contains(p.tmux("capture-pane", "-p"), "┃") })
			p.line(":Hermes changes")
			p.wait("no change waits")
			if text, err := os.ReadFile(filepath.Join(b.workspace, "shop.py")); err != nil || !strings.Contains(string(text), "return a + b") {
				t.Errorf("the file has %q, %v", text, err)
			}

			p.send("Turn it round",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"def total","new_string":"# the shop\ndef total"}}},`+
					`{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a + b","new_string":"return b + a"}}}]`,
				`[{"text":"It is turned round."}]`)
			p.wait("It is turned round.", "● idle", "┃ # the shop", "┃     return b + a")
			p.line(":wincmd p")
			p.until("the window of the file", func() bool { return p.eval(`expand('%:t')`) == "shop.py" })
			p.line(":1Hermes hunk accept")
			one := func() bool {
				screen := p.tmux("capture-pane", "-p")
				return !strings.Contains(screen, "┃ # the shop") && strings.Contains(screen, "┃     return b + a")
			}
			p.until("the accepted sign to be gone", one)
			p.line(":qall!")
			p.until("Neovim to end", func() bool {
				return strings.Contains(p.tmux("list-sessions"), "no server") || strings.Contains(p.tmux("list-sessions"), "error")
			})
			p.start(t, "shop.py")
			p.until("the sign of the rest", one)
			p.line(":Hermes hunk next")
			p.until("the cursor to be at the rest", func() bool { return p.eval(`line('.')`) == "3" })
		})
	}
}
