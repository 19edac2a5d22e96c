//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

const helixLanguages = `
[language-server.hermes]
command = "BINARY"
args = ["serve"]

[[language]]
name = "python"
language-servers = ["hermes"]

[[language]]
name = "markdown"
language-servers = ["hermes"]
`

// The chat document in a real Helix, without a plugin: typing while an answer streams, cancel, the
// next day. Helix shows no questions, and its changes overtake each other.
func TestHelix(t *testing.T) {
	t.Parallel()
	b := newBed(t, shopFiles)
	write(t, filepath.Join(b.home, "xdg", "helix", "languages.toml"), strings.ReplaceAll(helixLanguages, "BINARY", b.link))
	write(t, filepath.Join(b.home, "xdg", "helix", "config.toml"), "[editor.soft-wrap]\nenable = true\n")

	hx := b.screen(t, "helix", host(t, "helix"), "shop.py")
	hx.tmux("resize-window", "-y", "60") // the whole chat fits: Helix does not follow the cursor after edits of the server
	hx.wait("return a - b", "NOR")
	hx.act("Chat with Hermes", 0)
	hx.wait("# Chat with Hermes", "## You", ".hermes/chats")

	hx.insert("i")
	hx.paste("Please mend total.\n\n```hermes-script\n" + strings.Join([]string{
		`[{"text":"Let me look."},{"call":{"name":"read_file","args":{"path":"shop.py"}}}]`,
		`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
		`[{"call":{"name":"terminal","args":{"command":"rm -rf build"}}}]`,
		`[{"text":"The sum "},{"sleep_ms":3000},{"text":"is right now."}]`,
	}, "\n") + "\n```\n")
	hx.normal()
	hx.act("Send to Hermes", 0)
	hx.wait("## Hermes", "Let me look.", "The sum")
	hx.insert("i")
	hx.write("I type while it streams, fast, and nothing of it may be lost or torn apart.")
	hx.normal()
	shown := hx.wait("The sum is right now.", "- ✓ Read shop.py", "- ✓ Edit shop.py", "- ✗ $ rm -rf build", "**Denied**", "command_allowlist",
		"I type while it streams, fast, and nothing of it may be lost or torn apart.")
	hx.keep("chat")
	answer, draft := strings.Index(shown, "The sum is right now."), strings.Index(shown, "I type while it streams")
	if you := strings.LastIndex(shown, "## You"); you < answer || draft < you {
		t.Errorf("what was typed does not stand behind the last heading:\n%s", shown)
	}

	hx.insert("o")
	hx.paste("\n```hermes-script\n[{\"text\":\"It never \"},{\"text\":\"ends\"},{\"sleep_ms\":600000}]\n```\n")
	hx.normal()
	hx.act("Send to Hermes", 0)
	hx.wait("It never ends")
	hx.act("Cancel Hermes", 1)
	hx.wait("*Cancelled.*")
	hx.keep("cancelled")
	hx.line(":write-all")

	hx.line(":open shop.py")
	hx.wait("return a + b")
	hx.keys("u")
	hx.wait("return a - b")
	hx.line(":quit-all!")
	hx.ended()

	chats, err := filepath.Glob(filepath.Join(b.workspace, ".hermes", "chats", "*.md"))
	if err != nil || len(chats) != 1 {
		t.Fatalf("chats: %v, %v", chats, err)
	}
	hx = b.screen(t, "helix", host(t, "helix"), chats[0])
	hx.wait("NOR", "# Chat with Hermes")
	hx.insert("g", "e", "o")
	hx.paste("And today?\n\n```hermes-script\n[{\"text\":\"We go \"},{\"text\":\"on.\"}]\n```\n")
	hx.normal()
	hx.act("Send to Hermes", 0)
	hx.wait("We go on.")
	hx.keep("next-day")
	hx.line(":quit-all!")
	hx.ended()

	db := store.New(filepath.Join(b.home, store.FileName), store.Options{})
	defer db.Close()
	sessions, _, err := db.List(t.Context(), store.Filter{Limit: 10})
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%d sessions, %v: the next day went on in another one", len(sessions), err)
	}
	if _, err := os.Stat(filepath.Join(b.workspace, "build")); err != nil {
		t.Errorf("what nobody could allow has run: %v", err)
	}
}

// insert begins to insert with the given keys.
func (s *screen) insert(keys ...string) {
	s.t.Helper()
	s.keys(keys...)
	s.wait("\n INS ")
}

// normal leaves the insert mode of Helix. It waits until Helix shows the normal mode: if a terminal
// reads Escape together with the next key, it takes both for a key with Alt.
func (s *screen) normal() {
	s.t.Helper()
	s.keys("Escape")
	s.wait("\n NOR ")
}

// act chooses from Helix's menu of code actions, where the first entry is preselected. Helix is in
// the normal mode. If the menu does not come, act asks again: Helix offers no action while the
// server has not yet answered.
func (s *screen) act(title string, below int) {
	s.t.Helper()
	entry := regexp.MustCompile(`(?m)^\s*[\d~]*\s+` + title)
	s.until("the menu to offer "+title, func() bool {
		s.write(" a")
		for range 100 { // a second try would type into a late menu
			time.Sleep(50 * time.Millisecond)
			if entry.MatchString(s.text()) {
				return true
			}
		}
		return false
	})
	for range below {
		s.keys("Down")
	}
	s.keys("Enter")
}

// With files.open: disk, edits of a document open in Helix are on disk when the tool returns, and
// changes of commands between them stay. If the user has unsaved changes, the edit is made in
// Helix, and the chat reports the unsaved edit.
func TestHelixFilesOnDisk(t *testing.T) {
	t.Parallel()
	b := newBed(t, shopFiles)
	write(t, filepath.Join(b.home, "config.yaml"), "model: {provider: embedded}\nfiles: {open: disk}\n")
	write(t, filepath.Join(b.home, "xdg", "helix", "languages.toml"), strings.ReplaceAll(helixLanguages, "BINARY", b.link))
	write(t, filepath.Join(b.home, "xdg", "helix", "config.toml"), "[editor.soft-wrap]\nenable = true\n")
	disk := func() string {
		text, err := os.ReadFile(filepath.Join(b.workspace, "shop.py"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	hx := b.screen(t, "helix", host(t, "helix"), "shop.py")
	hx.tmux("resize-window", "-y", "60")
	hx.wait("return a - b", "NOR")
	hx.act("Chat with Hermes", 0)
	hx.wait("# Chat with Hermes", "## You", ".hermes/chats")
	hx.insert("i")
	hx.paste("Mend it.\n\n```hermes-script\n" + strings.Join([]string{
		`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
		`[{"call":{"name":"terminal","args":{"command":"grep -q 'a + b' shop.py && sed -i 's/total/sum_of/' shop.py"}}}]`,
		`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a + b","new_string":"return b + a"}}}]`,
		`[{"text":"It is on disk."}]`,
	}, "\n") + "\n```\n")
	hx.normal()
	hx.act("Send to Hermes", 0)
	shown := hx.wait("## Hermes", "  It is on disk.")
	if text := disk(); !strings.Contains(text, "sum_of") || !strings.Contains(text, "b + a") || strings.Contains(shown, "ot saved") {
		t.Errorf("the disk has %q; Helix shows\n%s", text, shown)
	}
	hx.line(":write-all")
	hx.line(":open shop.py")
	hx.line(":reload")
	hx.wait("sum_of", "return b + a")
	hx.insert("g", "g", "O")
	hx.write("# mine")
	hx.normal()
	hx.wait("# mine", "[+]")
	chats, err := filepath.Glob(filepath.Join(b.workspace, ".hermes", "chats", "*.md"))
	if err != nil || len(chats) != 1 {
		t.Fatalf("chats: %v, %v", chats, err)
	}
	hx.line(":open " + chats[0])
	hx.wait("  It is on disk.")
	hx.insert("g", "e", "o")
	hx.paste("\n```hermes-script\n" + `[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return b + a","new_string":"return a * b"}}}]` + "\n" +
		`[{"text":"It is in the editor."}]` + "\n```\n")
	hx.normal()
	hx.act("Send to Hermes", 0)
	hx.wait("  It is in the editor.", "Not saved in the editor: shop.py.")
	hx.keep("disk")
	if text := disk(); !strings.Contains(text, "b + a") || strings.Contains(text, "# mine") {
		t.Errorf("the disk has %q", text)
	}
	hx.line(":write-all")
	hx.line(":open shop.py")
	hx.wait("# mine", "return a * b", "sum_of")
	hx.until("both changes on disk", func() bool {
		return strings.Contains(disk(), "# mine") && strings.Contains(disk(), "a * b") && strings.Contains(disk(), "sum_of")
	})
	hx.line(":quit-all!")
	hx.ended()
}
