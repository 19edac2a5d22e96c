//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNeovimSavesEdits: an edit of a buffer without unsaved changes is on disk before the next
// command. The buffer shows the changes on disk of a command or another program. A buffer with
// unsaved changes stays unsaved.
func TestNeovimSavesEdits(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			file := filepath.Join(b.workspace, "shop.py")
			disk := func() string {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			buffer := func() string {
				return p.lua(`table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('shop.py'), 0, -1, false), '|')`)
			}
			modified := func() string { return p.eval(`getbufvar('shop.py', '&modified')`) }

			p.send("one",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
				`[{"call":{"name":"terminal","args":{"command":"grep -c 'a + b' shop.py && sed -i 's/total/sum_of/' shop.py"}}}]`,
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a + b","new_string":"return b + a"}}}]`,
				`[{"text":"First is done."}]`)
			p.wait("First is done.", "● idle")
			if got := disk(); !strings.Contains(got, "sum_of") || !strings.Contains(got, "b + a") || modified() != "0" {
				t.Errorf("the disk has %q, the buffer %q, modified %s", got, buffer(), modified())
			}

			write(t, file, strings.Replace(disk(), "sum_of", "added", 1)) // as git checkout does
			p.send("two",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return b + a","new_string":"return a * b"}}}]`,
				`[{"text":"Second is done."}]`)
			p.wait("Second is done.", "● idle")
			if got := disk(); !strings.Contains(got, "added") || !strings.Contains(got, "a * b") || modified() != "0" {
				t.Errorf("the disk has %q, the buffer %q, modified %s", got, buffer(), modified())
			}
			p.until("the buffer to be reloaded", func() bool { return strings.Contains(buffer(), "added") && strings.Contains(buffer(), "a * b") })

			p.lua(`require('hermes.config').set({ cmd = require('hermes.config').current.cmd, save_edits = false })`)
			before := disk()
			p.send("three",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a * b","new_string":"return a / b"}}}]`,
				`[{"text":"Third is done."}]`)
			p.wait("Third is done.", "● idle")
			if disk() != before || modified() != "1" || !strings.Contains(buffer(), "a / b") {
				t.Errorf("the disk has %q, the buffer %q, modified %s", disk(), buffer(), modified())
			}
		})
	}
}
