//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNeovimFilesChangeOutside: commands and formatters change the files of open buffers. The next edit is made of the
// text on disk, or fails if the file is gone. Encodings, line ends and byte order marks stay.
func TestNeovimFilesChangeOutside(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			const text = "one\ntwo\nthree\n"
			sjis := "\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x83\x65\x83\x4c\x83\x58\x83\x67\x82\xc5\x82\xb7\r\ntwo\r\nthree\r\n" // 日本語のテキストです
			bom := "\ufeffone\r\ntwo\r\nthree\r\n"
			b := newBed(t, map[string]string{"moved.txt": text, "over.txt": text, "formatted.txt": text, "sjis.txt": sjis, "bom.txt": bom})
			p := newPlugin(t, version, b)
			p.start(t, "moved.txt")
			p.lua(`vim.cmd('set fileencodings=ucs-bom,utf-8,cp932,latin1')`)
			p.lua(`vim.api.nvim_create_autocmd('BufWritePre', { pattern = 'formatted.txt', callback = function(e) vim.api.nvim_buf_set_lines(e.buf, 0, 0, false, { 'formatted' }) end })`)
			for _, name := range []string{"over.txt", "formatted.txt", "sjis.txt", "bom.txt"} {
				p.lua(`vim.cmd.edit('` + name + `')`)
			}
			disk := func(name, want string) {
				t.Helper()
				if got, err := os.ReadFile(filepath.Join(b.workspace, name)); err != nil || string(got) != want {
					t.Errorf("%s has %q, %v, not %q", name, got, err, want)
				}
			}
			patch := func(name, from, to string) string {
				return `[{"call":{"name":"patch","args":{"path":"` + name + `","old_string":"` + from + `","new_string":"` + to + `"}}}]`
			}
			run := func(command string) string {
				return `[{"call":{"name":"terminal","args":{"command":"` + command + `"}}}]`
			}

			p.send("over", run("sed s/two/2/ over.txt > x && mv x over.txt"), patch("over.txt", "three", "3"), `[{"text":"Over is done."}]`)
			p.ended("over", "Over is done.")
			disk("over.txt", "one\n2\n3\n")

			p.send("moved", run("mv moved.txt gone.txt"), patch("moved.txt", "two", "2"), patch("gone.txt", "two", "2"), `[{"text":"Moved is done."}]`)
			p.ended("moved", "Moved is done.")
			disk("gone.txt", "one\n2\nthree\n")
			if b.has("moved.txt") {
				t.Error("the moved file is there again")
			}

			p.send("formatted", patch("formatted.txt", "two", "2"), patch("formatted.txt", "three", "3"), `[{"text":"Formatted is done."}]`)
			p.ended("formatted", "Formatted is done.")
			disk("formatted.txt", "formatted\nformatted\none\n2\n3\n")

			p.send("encoded", patch("sjis.txt", "two", "2"), run("sed -i s/three/3/ sjis.txt"), patch("sjis.txt", "2", "zwei"),
				patch("bom.txt", "two", "2"), run("sed -i s/three/3/ bom.txt"), patch("bom.txt", "2", "zwei"), `[{"text":"Encoded is done."}]`)
			p.ended("encoded", "Encoded is done.")
			after := strings.NewReplacer("two", "zwei", "three", "3")
			disk("sjis.txt", after.Replace(sjis))
			disk("bom.txt", after.Replace(bom))
			for _, name := range []string{"over.txt", "formatted.txt", "sjis.txt", "bom.txt"} {
				if got := p.eval(`getbufvar('` + name + `', '&modified')`); got != "0" {
					t.Errorf("%s is modified: %s", name, got)
				}
			}
		})
	}
}
