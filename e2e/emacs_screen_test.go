//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// emacs is an Emacs in a terminal, with eglot or lsp-mode.
type emacs struct {
	*screen
	client  string         // also its setup file in e2e/emacs
	ready   *regexp.Regexp // the mode line when the server has started
	actions string         // the command with the menu of code actions, and its prompt
	prompt  string
}

// The chat document in a real Emacs with either client: typing while an answer streams,
// an approval, an edit, cancel, the next day.
func TestEmacsScreen(t *testing.T) {
	t.Parallel()
	for _, e := range []emacs{
		{client: "eglot", ready: regexp.MustCompile(`\[eglot:`), actions: "eglot-code-actions", prompt: "Pick an action"},
		{client: "lsp-mode", ready: regexp.MustCompile(`LSP\[hermes:\d+\]`), // before: hermes:PID/starting
			actions: "lsp-execute-code-action", prompt: "Select code action"},
	} {
		t.Run(e.client, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			if out, err := exec.Command("git", "-C", b.workspace, "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("git: %v\n%s", err, out)
			}
			e.open(t, b, "shop.py")
			e.act("Chat with Hermes")
			e.wait("Hermes writes to .hermes/chats/")
			chats, err := filepath.Glob(filepath.Join(b.workspace, ".hermes", "chats", "*.md"))
			if err != nil || len(chats) != 1 {
				t.Fatalf("chats: %v, %v", chats, err)
			}
			e.visit(chats[0])
			e.waitReady("# Chat with Hermes", "## You")
			e.converse()
			if _, err := os.Stat(filepath.Join(b.workspace, "build")); !os.IsNotExist(err) {
				t.Errorf("the command that was allowed did not run: %v", err)
			}
			e.cancel()
			e.undo(filepath.Join(b.workspace, "shop.py"))
			e.quit()

			e.open(t, b, chats[0])
			e.waitReady("# Chat with Hermes")
			e.keys("M->")
			e.paste("And today?\n\n```hermes-script\n[{\"text\":\"We go \"},{\"text\":\"on.\"}]\n```\n")
			e.act("Send to Hermes")
			e.wait("We go on.")
			e.keep(e.client + "-next-day")
			e.quit()
			db := store.New(filepath.Join(b.home, store.FileName), store.Options{})
			defer db.Close()
			sessions, _, err := db.List(t.Context(), store.Filter{Limit: 10})
			if err != nil || len(sessions) != 1 {
				t.Fatalf("%d sessions, %v: the next day went on in another one", len(sessions), err)
			}
		})
	}
}

func (e *emacs) open(t *testing.T, b bed, file string) {
	t.Helper()
	setup := filepath.Join(root(t), "e2e", "emacs", e.client+".el")
	e.screen = b.screen(t, "emacs", found(t, "emacs"), "-nw", "-q", "--no-site-file", "-l", setup, file)
	e.waitReady(filepath.Base(file))
}

// waitReady waits until the server has started and the screen shows all of want.
func (e *emacs) waitReady(want ...string) {
	e.t.Helper()
	e.until("the mode line "+e.ready.String(), func() bool { return e.ready.MatchString(e.text()) })
	e.wait(want...)
}

// command runs a command by its name.
func (e *emacs) command(name string) {
	e.keys("M-x")
	e.line(name)
}

func (e *emacs) act(title string) {
	e.t.Helper()
	e.command(e.actions)
	e.wait(e.prompt)
	e.line(title)
}

func (e *emacs) visit(path string) {
	e.command("find-file")
	e.wait("Find file:")
	e.keys("C-a", "C-k")
	e.line(path)
}

func (e *emacs) converse() {
	e.t.Helper()
	e.keys("M->")
	e.paste("Please mend total.\n\n```hermes-script\n" + strings.Join([]string{
		`[{"text":"Let me look."},{"call":{"name":"read_file","args":{"path":"shop.py"}}}]`,
		`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
		`[{"call":{"name":"terminal","args":{"command":"rm -rf build"}}}]`,
		`[{"text":"The sum "},{"sleep_ms":3000},{"text":"is right now."}]`,
	}, "\n") + "\n```\n")
	e.act("Send to Hermes")
	e.wait("Hermes asks: rm -rf build", "deletes files recursively", "Minibuf")
	e.keep(e.client + "-asks")
	e.answer("Hermes asks: rm -rf build", "Allow once")
	e.wait("- ✓ $ rm -rf build", "Let me look.")
	e.write("I type while it streams, and nothing of it may be lost.")
	e.wait("The sum is right now.", "- ✓ Read shop.py", "- ✓ Edit shop.py", "- ✓ $ rm -rf build", "I type while it streams, and nothing of it may be lost.")
	e.until("what was typed to stand behind the last heading", func() bool {
		shown := e.text()
		answer, draft := strings.Index(shown, "The sum is right now."), strings.Index(shown, "I type while it streams")
		you := strings.LastIndex(shown, "## You")
		return answer >= 0 && answer < you && you < draft
	})
	e.keep(e.client + "-chat")
}

// answer chooses the option with a word at its start. Emacs shows a question a moment before it
// reads the answer. So answer types again if the text is not on the screen. It sends the text only
// after it appeared, because an empty answer would deny the request.
func (e *emacs) answer(question, word string) {
	e.t.Helper()
	e.until("the question to be answered", func() bool {
		e.keys("C-a", "C-k")
		e.write(word)
		e.keys("Tab")
		if !e.within(2*time.Second, func(shown string) bool { return strings.HasSuffix(minibuffer(shown), " "+word) }) {
			return false
		}
		e.keys("Enter")
		// Typed again too early, the text would come into the document.
		return e.within(20*time.Second, func(shown string) bool { return !strings.Contains(shown, question) })
	})
}

// minibuffer returns the last line with text: the question with the typed text.
func minibuffer(shown string) string {
	shown = strings.TrimRight(shown, " \n")
	return shown[strings.LastIndex(shown, "\n")+1:]
}

// within reports whether the screen is as wanted within a time.
func (e *emacs) within(limit time.Duration, wanted func(shown string) bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
		if wanted(e.text()) {
			return true
		}
	}
	return false
}

func (e *emacs) cancel() {
	e.t.Helper()
	e.keys("M->", "Enter")
	e.paste("\n```hermes-script\n[{\"text\":\"It never \"},{\"text\":\"ends\"},{\"sleep_ms\":600000}]\n```\n")
	e.act("Send to Hermes")
	e.wait("It never ends")
	e.act("Cancel Hermes")
	if !e.within(time.Minute, func(shown string) bool {
		_, after, cancelled := strings.Cut(shown, "*Cancelled.*")
		return cancelled && strings.Contains(after, "## You") // the end of the answer; before it, the chat is not complete
	}) {
		e.t.Fatal("the canceled answer does not end with a new prompt")
	}
	e.command("save-buffer")
}

// undo undoes the agent's edit like a user's edit.
func (e *emacs) undo(file string) {
	e.t.Helper()
	e.visit(file)
	e.wait("return a + b")
	e.command("undo")
	e.wait("return a - b")
	e.command("save-buffer")
}

func (e *emacs) quit() {
	e.t.Helper()
	e.command("kill-emacs")
	e.ended()
}
