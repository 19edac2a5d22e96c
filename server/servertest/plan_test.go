package servertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// The chat document shows a plan when its choices are shown. Approval continues the turn in
// the same answer.
func TestPlanInTheChat(t *testing.T) {
	t.Parallel()
	with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
		chat := openChat(t, e, protocol.ChatOpenArgs{})
		prompt := func(text string) {
			e.Edit(chat, "", text)
			if _, err := send(t, e, chat); err != nil {
				t.Fatal(err)
			}
		}
		prompt("/mode plan")
		settle(e, chat)
		var before string
		e.Choose(func(q servertest.Question) string {
			time.Sleep(time.Minute)
			before = e.Text(chat)
			return "Start with approvals"
		})
		prompt("Make a file.")
		x := m.Next()
		x.Call("1", "present_plan", `{"plan":"1. Write **a.txt**."}`)
		x.End()
		x = m.Next()
		x.Call("2", "write_file", `{"path":"a.txt","content":"a"}`)
		x.End()
		x = m.Next()
		x.Text("Written.")
		x.End()
		time.Sleep(time.Minute)
		if !strings.Contains(before, "1. Write **a.txt**.") {
			t.Errorf("at the question the chat reads %s", before)
		}
		if text := settle(e, chat); !strings.Contains(text, "Written.") || strings.Count(text, "1. Write **a.txt**.") != 1 {
			t.Errorf("the chat reads %s", text)
		}
	})
}
