//go:build e2e && kakoune

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

var kakBlock = regexp.MustCompile("(?s)```kak\n(.*?)```")

// The chat document in a real Kakoune, configured as documented: typing while an answer streams, a
// question, cancel, the next day. Its client opens no documents for a server. It shows questions
// only on request.
func TestKakoune(t *testing.T) {
	b := newBed(t, shopFiles)
	client := filepath.Join(root(t), ".cache", "hosts", "kak-lsp", "bin", "kak-lsp")
	if _, err := os.Stat(client); err != nil {
		testneed.Missing(t, "kak-lsp (e2e/setup/kakoune.sh)")
	}
	// The path of its socket must be short.
	run, err := os.MkdirTemp("", "kak")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	t.Setenv("PATH", filepath.Dir(client)+":"+filepath.Dir(b.link)+":"+os.Getenv("PATH"))
	doc, err := os.ReadFile(filepath.Join(root(t), "docs", "kakoune.md"))
	if err != nil {
		t.Fatal(err)
	}
	kakrc := kakBlock.FindSubmatch(doc)
	if kakrc == nil {
		t.Fatal("docs/kakoune.md has no configuration of Kakoune")
	}
	write(t, filepath.Join(b.home, "xdg", "kak", "kakrc"), string(kakrc[1]))

	kak := b.screen(t, "kakoune", host(t, "kakoune"), "shop.py")
	kak.wait("return a - b", "shop.py 1:1")
	kak.line(":lsp-code-actions")
	kak.wait("Chat with Hermes", "Explain", "Write tests", "Document")
	kak.write("Chat")
	kak.keys("Tab", "Enter")
	kak.wait("Hermes writes to .hermes/chats/")
	chats, err := filepath.Glob(filepath.Join(b.workspace, ".hermes", "chats", "*.md"))
	if err != nil || len(chats) != 1 {
		t.Fatalf("chats: %v, %v", chats, err)
	}
	kak.line(":edit " + chats[0])
	kak.wait("# Chat with Hermes", "## You")

	kak.append("Please mend total.\n\n```hermes-script\n" + strings.Join([]string{
		`[{"text":"Let me look."},{"call":{"name":"read_file","args":{"path":"shop.py"}}}]`,
		`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
		`[{"call":{"name":"terminal","args":{"command":"rm -rf build"}}}]`,
		`[{"text":"The sum "},{"sleep_ms":3000},{"text":"is right now."}]`,
	}, "\n") + "\n```\n")
	kak.line(":lsp-code-action 'Send to Hermes'")
	kak.wait("## Hermes", "Let me look.", "- ✓ Edit shop.py", "🔔")
	kak.line(":lsp-show-message-request-next")
	kak.wait("Hermes asks: rm -rf build", "Allow once", "Allow for this session: ", "Always allow: ", "Deny")
	kak.keep("asks")
	kak.write("Allow once")
	kak.keys("Tab", "Enter")
	kak.wait("- ✓ $ rm -rf build", "\n The sum")
	kak.write("geo")
	kak.write("I type while it streams, fast, and nothing of it may be lost or torn apart.")
	kak.keys("Escape")
	shown := kak.wait("The sum is right now.", "I type while it streams, fast, and nothing of it may be lost or torn apart.")
	kak.keep("chat")
	if answer, draft := strings.Index(shown, "The sum is right now."), strings.Index(shown, "I type while it streams"); draft < answer {
		t.Errorf("what was typed does not stand behind the answer:\n%s", shown)
	}
	if _, err := os.Stat(filepath.Join(b.workspace, "build")); !os.IsNotExist(err) {
		t.Errorf("the command that was allowed did not run: %v", err)
	}

	kak.append("\n```hermes-script\n[{\"text\":\"It never \"},{\"text\":\"ends\"},{\"sleep_ms\":600000}]\n```\n")
	kak.line(":lsp-code-action 'Send to Hermes'")
	kak.wait("It never ends")
	kak.line(":lsp-code-action 'Cancel Hermes'")
	kak.wait("*Cancelled.*")
	kak.keep("cancelled")
	kak.line(":write-all")

	kak.line(":edit shop.py")
	kak.wait("return a + b")
	kak.keys("u")
	kak.wait("return a - b")
	kak.line(":kill!")
	kak.ended()

	kak = b.screen(t, "kakoune", host(t, "kakoune"), chats[0])
	kak.wait("# Chat with Hermes")
	kak.append("And today?\n\n```hermes-script\n[{\"text\":\"We go \"},{\"text\":\"on.\"}]\n```\n")
	kak.line(":lsp-code-action 'Send to Hermes'")
	kak.wait("We go on.")
	kak.keep("next-day")
	kak.line(":kill!")
	kak.ended()

	db := store.New(filepath.Join(b.home, store.FileName), store.Options{})
	defer db.Close()
	sessions, _, err := db.List(t.Context(), store.Filter{Limit: 10})
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%d sessions, %v: the next day went on in another one", len(sessions), err)
	}
}

// append pastes a text below the last line of Kakoune's buffer.
func (s *screen) append(text string) {
	s.t.Helper()
	s.write("geo")
	s.wait(" insert ")
	s.paste(text)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	s.wait(lines[len(lines)-2])
	s.keys("Escape")
	s.until("the end of insert mode", func() bool { return !strings.Contains(s.text(), " insert ") })
}
