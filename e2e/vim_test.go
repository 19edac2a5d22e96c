//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

var vimBlock = regexp.MustCompile("(?s)```vim\n(set autoread.*?)```")

// The chat document in a real Vim with ALE, configured as documented. ALE takes no edits from a
// server and answers no questions: the answer comes by the file.
func TestVimALE(t *testing.T) {
	t.Parallel()
	const ale = "/usr/share/vim-ale"
	if _, err := os.Stat(ale); err != nil {
		testneed.Missing(t, "the package vim-ale")
	}
	doc, err := os.ReadFile(filepath.Join(root(t), "docs", "vim.md"))
	if err != nil {
		t.Fatal(err)
	}
	config := vimBlock.FindSubmatch(doc)
	if config == nil {
		t.Fatal("docs/vim.md has no configuration of ALE")
	}
	b := newBed(t, shopFiles)
	write(t, filepath.Join(b.workspace, ".git", "HEAD"), "ref: refs/heads/main\n")
	write(t, filepath.Join(b.home, "config.yaml"), "model: {provider: embedded}\napprovals: {timeout: 1}\n")
	vimrc := filepath.Join(b.home, "vimrc")
	write(t, vimrc, "set nocompatible noswapfile nowrap\nfiletype plugin on\nset runtimepath+="+ale+"\nlet $PATH = '"+filepath.Dir(b.link)+":' . $PATH\n"+string(config[1]))

	vim := b.screen(t, "vim", found(t, "vim"), "-u", vimrc, "shop.py")
	vim.wait("return a - b")
	vim.aleAction("1) Chat with Hermes", "2) Explain", "3) Write tests", "4) Document")
	var chats []string
	vim.until("the chat", func() bool {
		chats, err = filepath.Glob(filepath.Join(b.workspace, ".hermes", "chats", "*.md"))
		return err == nil && len(chats) == 1
	})
	vim.line(":edit " + chats[0])
	vim.wait("# Chat with Hermes", "## You")

	draft := filepath.Join(b.home, "draft.txt")
	write(t, draft, "Please mend total.\n\n```hermes-script\n"+strings.Join([]string{
		`[{"text":"Let me look."},{"call":{"name":"patch","args":{"path":"build/old.txt","old_string":"x","new_string":"y"}}}]`,
		`[{"call":{"name":"terminal","args":{"command":"rm -rf build"}}}]`,
		`[{"text":"The sum "},{"text":"is right now."}]`,
	}, "\n")+"\n```\n")
	vim.line(":$read " + draft)
	vim.line(":write")
	vim.aleAction("1) Send to Hermes")
	vim.until("the answer in the file", func() bool {
		text, err := os.ReadFile(chats[0])
		return err == nil && strings.Contains(string(text), "The sum is right now.\n\n## You")
	})
	vim.line(":checktime")
	vim.keys("G")
	vim.wait("Let me look.", "- ✓ Edit build/old.txt", "- ✗ $ rm -rf build", "The sum is right now.")
	vim.keep("chat")
	if text, err := os.ReadFile(filepath.Join(b.workspace, "build", "old.txt")); err != nil || string(text) != "y\n" {
		t.Errorf("the file reads %q, %v", text, err)
	}
	vim.line(":qall!")
	vim.ended()
}

// aleAction opens ALE's menu of code actions. When all actions are there, it takes the first.
func (s *screen) aleAction(want ...string) {
	s.t.Helper()
	s.until("the menu", func() bool {
		s.line(":ALECodeAction")
		for range 60 { // asked once more, it would take the words for an answer
			time.Sleep(50 * time.Millisecond)
			if strings.Contains(s.text(), "Type number") {
				return true
			}
		}
		return false
	})
	s.wait(want...)
	s.line("1")
}
