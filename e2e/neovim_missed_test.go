//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNeovimMissedChanges lists a turn whose checkpoint could not be written, with the reason. The user
// can accept it, and not revert it.
func TestNeovimMissedChanges(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			disk := onSmallDisk(t, &b, "checkpoints", "1m")
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			disk.fill()
			p.send("Mend total",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
				`[{"text":"Mended."}]`)
			p.ended("Mend total", "Mended.")
			p.line(":Hermes changes")
			p.wait("Changes that wait", "1: shop.py  (Mend total; cannot be reverted: the disk is full")
			p.keep(p.name("missed"))
			p.line("1")
			p.wait("1: Accept")
			if shown := p.text(); strings.Contains(shown, "Compare") || strings.Contains(shown, "Revert") {
				t.Errorf("it can be reverted: %s", shown)
			}
			p.line("1")
			p.wait("accepted shop.py")
			p.line(":Hermes changes")
			p.wait("no change waits")
		})
	}
}

// TestNeovimKeptFiles: only files that a restore can overwrite are offered. The reasons of the others
// have no words for the model.
func TestNeovimKeptFiles(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string]string{"shop.py": shopFiles["shop.py"], "mine.py": "one = 1\n"})
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			p.send("Edit both",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}},{"call":{"name":"patch","args":{"path":"mine.py","old_string":"one","new_string":"two"}}}]`,
				`[{"text":"Both are edited."}]`)
			p.ended("Edit both", "Both are edited.")
			p.lua(`vim.api.nvim_set_option_value('modifiable', false, { buf = vim.fn.bufnr('shop.py') })`)
			write(t, filepath.Join(b.workspace, "mine.py"), "mine = 1\n")
			p.line(":Hermes rollback")
			p.wait("Bring the files back to before", "1: ")
			p.line("1")
			p.wait("Not restored: mine.py (it has been changed since), shop.py (", "2: Bring mine.py back too")
			p.keep(p.name("kept"))
			if shown := p.text(); strings.Contains(shown, "Read the file") {
				t.Errorf("shows words for the model: %s", shown)
			}
			p.line("2")
			p.wait("Overwrite mine.py", "-mine = 1", "1: Allow once")
			p.line("1")
			p.wait("restored mine.py")
			p.line(":Hermes rollback")
			p.wait("Bring the files back to before", "2: ")
			p.line("2")
			p.wait("no file had to be restored; kept shop.py (")
			if shown := p.text(); strings.Contains(shown, "back too") {
				t.Errorf("offers a file that cannot be overwritten: %s", shown)
			}
		})
	}
}

// ended waits until the turn of a prompt has ended with these words.
func (p *plugin) ended(prompt, words string) {
	p.t.Helper()
	p.until("the end of the turn", func() bool {
		shown := since(p.chatText(), "\n"+prompt+"\n")
		return strings.Contains(shown, "\n"+words) && strings.HasSuffix(strings.TrimSpace(shown), "## You")
	})
}
