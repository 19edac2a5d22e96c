package elicit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/tools"
)

// slow is a user who needs a second for each question.
type slow struct{ shown, most, total atomic.Int32 }

func (*slow) CanClarify() bool { return true }

func (u *slow) Clarify(context.Context, tools.ClarifyRequest) (tools.Answer, error) {
	if now := u.shown.Add(1); now > u.most.Load() {
		u.most.Store(now)
	}
	u.total.Add(1)
	time.Sleep(time.Second)
	u.shown.Add(-1)
	return tools.Answer{Kind: tools.AnswerGiven, Text: "https://a.example/"}, nil
}

// The requests of a server are shown in order. They are canceled if too many are pending or too
// many came within a minute.
func TestFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var notices atomic.Int32
		user := &slow{}
		a := &Asker{
			Server: "evil", Ask: user, Notice: func(string) { notices.Add(1) }, Tell: func(string) {},
			During: func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(ctx) },
		}
		var canceled atomic.Int32
		ask := func(n int) {
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					if r := a.Answer(t.Context(), &sdk.ElicitParams{Mode: "url", URL: "https://a.example/", ElicitationID: "7"}); r.Action == cancelled {
						canceled.Add(1)
					}
				})
			}
			all.Wait()
		}
		ask(100)
		if user.most.Load() != 1 || user.total.Load() != mostWaiting || canceled.Load() != 100-mostWaiting || notices.Load() != 100-mostWaiting {
			t.Errorf("%d at once, %d shown, %d canceled, %d notices", user.most.Load(), user.total.Load(), canceled.Load(), notices.Load())
		}
		for range 5 {
			ask(mostWaiting)
		}
		if user.total.Load() != mostMinute {
			t.Errorf("%d in a minute", user.total.Load())
		}
		time.Sleep(time.Minute)
		if ask(1); user.total.Load() != mostMinute+1 {
			t.Error("after a minute, none is shown")
		}
		if a.Complete("8") || !a.Complete("7") || a.Complete("7") {
			t.Error("a step that is complete is reported once, and only if the user has agreed to it")
		}
	})
}
