//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// editorReport contains the results of an LSP editor.
type editorReport struct {
	Actions  []string // titles of the code actions on a file
	Lenses   []string // titles of the code lenses on the chat document
	Progress []string // titles and messages
	Asked    []string // titles of the requests, with their options
	Chat     string   // the chat document at the end
	Buffer   string   // the source file's buffer at the end
	Modified bool     // whether the buffer has unsaved changes
	Explain  string   // the chat document after the code action Explain
	Failures []string // errors of the editor's handlers
}

const shopSource = "def total(a, b):\n    return a - b\n"

// The session of the hosts: the user has typed a line without saving, and prompts in the chat
// document. The agent reads the buffer, edits it, and runs a command that requires approval.
var shopFiles = map[string]string{"shop.py": shopSource, "build/old.txt": "x\n"}

func TestNeovim(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			b.run(t, host(t, "nvim-"+version), "--headless", "-u", "NONE", "-i", "NONE", "-n",
				"-c", "luafile "+filepath.Join(root(t), "e2e", "neovim", "conversation.lua"))
			r := checkConversation(t, b)
			if len(r.Progress) == 0 {
				t.Error("no progress was shown")
			}
		})
	}
}

func checkConversation(t *testing.T, b bed) (r editorReport) {
	t.Helper()
	b.read(t, &r)
	for _, title := range []string{"Chat with Hermes", "Explain", "Write tests", "Document"} {
		if !slices.Contains(r.Actions, title) {
			t.Errorf("code actions = %q, want %q among them", r.Actions, title)
		}
	}
	if len(r.Failures) > 0 {
		t.Errorf("the editor failed: %q", r.Failures)
	}
	if !slices.Contains(r.Lenses, "Send to Hermes") {
		t.Errorf("code lenses = %q", r.Lenses)
	}
	if asked := strings.Join(r.Asked, "\n"); !strings.Contains(asked, "rm -rf build") {
		t.Errorf("asked = %q, want the whole command", asked)
	}
	if _, err := os.Stat(filepath.Join(b.workspace, "build")); !os.IsNotExist(err) {
		t.Errorf("the command that was allowed did not run: %v", err)
	}
	const answer = "```\n\n## Hermes\n\nLet me look. \n\n- ✓ Read shop.py\n- ✓ Edit shop.py\n- ✓ $ rm -rf build\n\nThe sum is right now.\n\n" +
		"> Not verified: commands ran while shop.py was not saved in the editor, and saw the version on the disk.\n\n## You\n"
	if got := strings.TrimRight(r.Chat, "\n") + "\n"; !strings.HasSuffix(got, answer) {
		t.Errorf("the chat is\n%s\nand should end with\n%s", got, answer)
	}
	if want := "# typed, not saved\ndef total(a, b):\n    return a + b"; !strings.Contains(r.Buffer, want) {
		t.Errorf("buffer = %q, want %q in it", r.Buffer, want)
	}
	if onDisk, err := os.ReadFile(filepath.Join(b.workspace, "shop.py")); err != nil || string(onDisk) != shopSource {
		t.Errorf("the file on the disk changed behind the editor: %q, %v", onDisk, err)
	}
	if !r.Modified {
		t.Error("the edit is not in the buffer's undo stack as an unsaved change")
	}
	if !strings.Contains(r.Explain, "## Hermes") || len(r.Explain) < 40 {
		t.Errorf("the answer to a code action is nowhere to be seen:\n%s", r.Explain)
	}
	return r
}
