//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile runs a test in each version of Neovim, with the plugin and a file.
func hostile(t *testing.T, file string, play func(t *testing.T, p *plugin)) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			if _, err := os.Stat(filepath.Join(b.workspace, file)); err != nil {
				write(t, filepath.Join(b.workspace, file), "x\n")
				write(t, filepath.Join(b.workspace, filepath.Dir(file), ".git", "HEAD"), "ref: refs/heads/main\n")
			}
			p := newPlugin(t, version, b)
			p.start(t, file)
			play(t, p)
		})
	}
}

// The name of a directory is no pattern: Vim would give a pattern with a backtick to a shell.
func TestNeovimCompletesInHostileRoot(t *testing.T) {
	hostile(t, "x`touch PWN`y/f.js", func(t *testing.T, p *plugin) {
		write(t, filepath.Join(p.bed.workspace, "x`touch PWN`y", "sub", "other.js"), "x\n")
		p.line(":Hermes")
		p.wait("● idle")
		if got, want := p.lua(`table.concat(require('hermes.context').complete(0, '@'), ' ')`), "@file @selection @diagnostics @problems @diff @staged @file: @folder: @symbol: @git: @url: @f.js @sub/"; got != want {
			t.Errorf("completion of @: %q, want %q", got, want)
		}
		if got, want := p.lua(`table.concat(require('hermes.context').complete(0, '@sub/o'), ' ')`), "@sub/other.js"; got != want {
			t.Errorf("completion of @sub/o: %q, want %q", got, want)
		}
		for _, dir := range []string{"", "x`touch PWN`y"} {
			if _, err := os.Lstat(filepath.Join(p.bed.workspace, dir, "PWN")); err == nil {
				t.Fatal("Neovim has run the name of a directory")
			}
		}
	})
}

// The parser of Markdown ends Neovim if 256 blocks are open.
func TestNeovimNestedBlocks(t *testing.T) {
	hostile(t, "shop.py", func(t *testing.T, p *plugin) {
		answers := func() string { // the prompt contains the text, too, within a line
			return p.eval(`count(flatten(map(getbufinfo(), {_, b -> getbufline(b.bufnr, 1, '$')})), 'All is said.')`)
		}
		for _, open := range []string{"> ", "+ ", "1. ", ">", "> - "} {
			before := answers()
			p.send("Say it", `[{"text":"Before: `+strings.Repeat("x", 20)+`\n\n`+strings.Repeat(open, 300)+`deep\n\nAll is said."}]`)
			p.until("the answer", func() bool { return answers() != before })
			p.ended("Say it", "All is said.")
			p.eval("execute('redraw!')")
			p.line(":Hermes transcript")
			p.until("the transcript", func() bool { return p.eval("&filetype") == "markdown" })
			p.eval("execute('redraw!')")
			p.line(":bdelete")
			p.line(":Hermes new")
			p.until("a new chat", func() bool { return !strings.Contains(p.text(), "All is said.") })
		}
	})
}

// A command has put a named pipe in the place of an open file.
func TestNeovimFileBecomesPipe(t *testing.T) {
	hostile(t, "shop.py", func(t *testing.T, p *plugin) {
		p.send("Replace it", `[{"call":{"name":"terminal","args":{"command":"rm -f shop.py; mkfifo shop.py"}}}]`, `[{"text":"It is a pipe."}]`)
		p.until("the command", func() bool {
			info, err := os.Lstat(filepath.Join(p.bed.workspace, "shop.py"))
			return err == nil && info.Mode()&os.ModeNamedPipe != 0 || strings.Contains(p.text(), "may it do this?")
		})
		if strings.Contains(p.text(), "may it do this?") {
			p.line("1")
		}
		p.ended("Replace it", "It is a pipe.")
		if got := p.eval("getbufvar('shop.py', '&autoread')"); got != "0" {
			t.Errorf("autoread of the buffer is %s, so Neovim reads the pipe when it gets the focus", got)
		}
	})
}

// If a question is too long for a float, it is shown page by page.
func TestNeovimLongQuestion(t *testing.T) {
	hostile(t, "shop.py", func(t *testing.T, p *plugin) {
		p.lua(`(function() vim.ui.select = function(_, o) _G.title = o.prompt end return 0 end)()`)
		p.send("Remove it", `[{"call":{"name":"terminal","args":{"command":"rm -rf /tmp/zz; `+strings.Repeat("echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; ", 60)+`rm -rf MARK"}}}]`, `[{"text":"Asked."}]`)
		p.wait("rm -rf MARK", "4: Deny")
		p.line("4")
		p.ended("Remove it", "Asked.")
	})
}
