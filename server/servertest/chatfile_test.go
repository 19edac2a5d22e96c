package servertest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// A chat file keeps its session: also when it was opened on one day, first sent on the next and
// continued on a third, and when a user has renamed it.
func TestChatKeepsItsSession(t *testing.T) {
	t.Parallel()
	for name, rename := range map[string]string{"as it was": "", "renamed": ".hermes/chats/my plans.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, home := t.TempDir(), filepath.Join(t.TempDir(), "home")
			var chat string
			with(t, servertest.Options{Root: root, Home: home}, func(t *testing.T, e *servertest.Editor, _ *fakemodel.Model) {
				chat = openChat(t, e, protocol.ChatOpenArgs{})
			}, says("Never asked."))
			if rename != "" {
				old := strings.TrimPrefix(chat, "file://")
				if err := os.Rename(old, filepath.Join(root, rename)); err != nil {
					t.Fatal(err)
				}
				chat = rename
			}
			var first string
			day := func(words, answer string) (messages int) {
				with(t, servertest.Options{Root: root, Home: home}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
					e.Open(chat)
					e.Edit(chat, "", words)
					result, err := send(t, e, string(e.URI(chat)))
					if err != nil {
						t.Fatal(err)
					}
					settle(e, chat)
					e.Save(chat)
					if first == "" {
						first = result.SessionID
					} else if result.SessionID != first {
						t.Errorf("session %s, want %s", result.SessionID, first)
					}
					messages = len(m.Requests()[0].Messages)
				}, says(answer))
				return messages
			}
			if n := day("My name is Ada.", "Hello Ada."); n != 1 {
				t.Errorf("the first prompt comes after %d messages", n-1)
			}
			if n := day("Who am I?", "Ada."); n != 3 {
				t.Errorf("the second prompt comes with %d messages, want 3", n)
			}
		})
	}
}

// If an editor shows no questions, the chat shows them with their choices.
func TestChatOfAnEditorThatCannotAsk(t *testing.T) {
	t.Parallel()
	files := map[string]string{"build/x": "x"}
	with(t, servertest.Options{Files: files}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		e.Choose(func(servertest.Question) string { return "error" })
		chat := openChat(t, e, protocol.ChatOpenArgs{})
		e.Edit(chat, "", "Clean up.")
		if _, err := send(t, e, chat); err != nil {
			t.Fatal(err)
		}
		text := settle(e, chat)
		for _, want := range []string{
			"> **Denied**: the agent requested `rm -rf build`\n> It deletes files recursively, so it requires approval, and this editor cannot show approval requests.\n",
			"> To allow it, add `rm -rf build` to `command_allowlist` in ", "config.yaml. It applies at once. Then send the prompt again.\n\n- ✗ $ rm -rf build\n",
			"- ✓ Ask: Which one?\n\nWhich one, red or blue?\n\n## You\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the chat lacks %q:\n%s", want, text)
			}
		}
		if _, err := os.Stat(filepath.Join(e.Root, "build", "x")); err != nil {
			t.Errorf("what nobody allowed has run: %v", err)
		}
		last := m.Requests()[2].Messages
		if answer := last[len(last)-1].Text(); !strings.Contains(answer, "will answer in the chat") {
			t.Errorf("the model was told %q", answer)
		}
	}, calls("terminal", map[string]any{"command": "rm -rf build"}),
		calls("clarify", map[string]any{"question": "Which one?", "choices": []string{"red", "blue"}}),
		says("Which one, red or blue?"))
}

// The menu offers to cancel the running turn, in the chat and in other files. A cursor of one
// character selects nothing.
func TestActionsWhileItRuns(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{Files: map[string]string{"a.py": "x = 1\n"}}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		menu := func(document string) string {
			raw, err := e.Call("textDocument/codeAction", map[string]any{
				"textDocument": map[string]any{"uri": document}, "context": map[string]any{"diagnostics": []any{}},
				"range": map[string]any{"start": map[string]int{"line": 0, "character": 0}, "end": map[string]int{"line": 0, "character": 1}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		e.Open("a.py")
		file := string(e.URI("a.py"))
		if got := menu(file); strings.Contains(got, protocol.TitleCancel) || !strings.Contains(got, `"command":"hermes.chat.open","arguments":[{}]`) && !strings.Contains(got, `"arguments":[{}],"command":"hermes.chat.open"`) {
			t.Errorf("when nothing runs the menu is %s", got)
		}
		chat := openChat(t, e, protocol.ChatOpenArgs{})
		e.Edit(chat, "", "Tell me a long story.")
		if _, err := send(t, e, chat); err != nil {
			t.Fatal(err)
		}
		m.Next().Text("Once upon")
		for _, document := range []string{file, chat} {
			if got := menu(document); !strings.Contains(got, protocol.TitleCancel) || !strings.Contains(got, protocol.CommandCancel) {
				t.Errorf("while it runs the menu of %s is %s", document, got)
			}
		}
		if err := e.Command(protocol.CommandCancel, protocol.SessionArgs{}, nil); err != nil {
			t.Fatal(err)
		}
		if text := settle(e, chat); !strings.Contains(text, "Once upon\n\n*Cancelled.*\n\n## You\n") {
			t.Errorf("the chat reads %s", text)
		}
		if got := menu(chat); strings.Contains(got, protocol.TitleCancel) {
			t.Errorf("afterwards the menu is %s", got)
		}
	})
}

// Some editors do nothing else while the user reads a question. Edits from this time are sent after
// the answer.
func TestChatWaitsForAPersonWhoThinks(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{Modal: true, Files: map[string]string{"build/x": "x"}}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		chat := openChat(t, e, protocol.ChatOpenArgs{})
		e.Choose(func(servertest.Question) string {
			time.Sleep(40 * time.Second)
			return "no"
		})
		e.Edit(chat, "", "Clean up.")
		if _, err := send(t, e, chat); err != nil {
			t.Fatal(err)
		}
		x := m.Next()
		x.Call("1", "read_file", `{"path":"build/x"}`)
		x.Call("2", "terminal", `{"command":"rm -rf build"}`)
		x.End()
		x = m.Next()
		x.Text("You said no.")
		x.End()
		time.Sleep(time.Minute)
		if text := settle(e, chat); !strings.HasSuffix(text, "## Hermes\n\n- ✓ Read build/x\n- ✗ $ rm -rf build\n\nYou said no.\n\n## You\n\n") {
			t.Errorf("the chat reads %s\nmessages: %q", text, e.Messages())
		}
	})
}
