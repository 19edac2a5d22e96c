package servertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// The chat shows the text before a question together with the question, also if the editor reports
// no changes while a question is open.
func TestChatBeforeAQuestion(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{Swallows: true, Files: map[string]string{"build/x": "x"}}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		chat := openChat(t, e, protocol.ChatOpenArgs{})
		var before string
		e.Choose(func(servertest.Question) string {
			before = e.Text(chat)
			time.Sleep(40 * time.Second)
			return "no"
		})
		e.Edit(chat, "", "Clean up.")
		if _, err := send(t, e, chat); err != nil {
			t.Fatal(err)
		}
		x := m.Next()
		x.Text("Let me")
		time.Sleep(50 * time.Millisecond) // then there is an edit, and the next edit follows a moment later
		x.Text(" look.")
		x.Call("1", "read_file", `{"path":"build/x"}`)
		x.Call("2", "terminal", `{"command":"rm -rf build"}`)
		x.End()
		x = m.Next()
		x.Text("You said no.")
		x.End()
		time.Sleep(3 * time.Minute)
		if !strings.HasSuffix(before, "## Hermes\n\nLet me look.\n\n- ✓ Read build/x\n") {
			t.Errorf("at the question the chat reads %s", before)
		}
		if text := settle(e, chat); !strings.HasSuffix(text, "## Hermes\n\nLet me look.\n\n- ✓ Read build/x\n- ✗ $ rm -rf build\n\nYou said no.\n\n## You\n\n") {
			t.Errorf("the chat reads %s\nmessages: %q", text, e.Messages())
		}
	})
}

// While the question of one session is open, another session edits nothing in the editor. It
// continues after the answer, or after a command of the user's. Then the change of an edit may be
// late, and the chat continues when it comes.
func TestEditsWaitForAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string // sent by the user while the question is open
		typed   string // in the chat afterwards
		last    string // line of the answer
	}{
		"answered":  {last: "> Not saved in the editor: a.txt. Commands see the version on the disk.\n\n"},
		"a command": {command: protocol.CommandSessionList, typed: "Next."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"build/x": "x", "a.txt": "one\n"}
			with(t, servertest.Options{Swallows: true, Files: files}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
				e.Open("a.txt")
				first := openChat(t, e, protocol.ChatOpenArgs{})
				var other protocol.SessionResult
				if err := e.Command(protocol.CommandSessionNew, struct{}{}, &other); err != nil {
					t.Fatal(err)
				}
				second := openChat(t, e, protocol.ChatOpenArgs{SessionID: other.SessionID})
				e.Choose(func(servertest.Question) string { time.Sleep(4 * time.Minute); return "no" })
				e.Edit(second, "", "Tell me.")
				if _, err := send(t, e, second); err != nil {
					t.Fatal(err)
				}
				y := m.Next()
				e.Edit(first, "", "Clean up.")
				if _, err := send(t, e, first); err != nil {
					t.Fatal(err)
				}
				x := m.Next()
				x.Call("1", "terminal", `{"command":"rm -rf build"}`)
				x.End()
				time.Sleep(time.Second)
				y.Text("It goes on.")
				y.Call("1", "patch", `{"path":"a.txt","old_string":"one","new_string":"two"}`)
				y.End()
				time.Sleep(time.Minute)
				if text := e.Text(second) + e.Text("a.txt"); strings.Contains(text, "It goes on.") || strings.Contains(text, "two") {
					t.Errorf("while the question is open there are edits: %s", text)
				}
				if c.command != "" {
					if err := e.Command(c.command, struct{}{}, nil); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 { // one for each session
					z := m.Next()
					z.Text("Done.")
					z.End()
				}
				time.Sleep(5 * time.Minute)
				e.Edit(second, "", c.typed)
				text := settle(e, second)
				if edited := strings.Contains(e.Text("a.txt"), "two"); !edited || !strings.Contains(text, "It goes on.\n\n- ") || !strings.Contains(text, "\n\nDone.\n\n"+c.last+"## You\n") || !strings.HasSuffix(text, c.typed) {
					t.Errorf("the chat reads %s\nmessages: %q", text, e.Messages())
				}
			})
		})
	}
}
