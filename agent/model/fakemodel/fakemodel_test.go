package fakemodel_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// ask sends a request and returns the response.
func ask(ctx context.Context, m model.Model, req *model.Request) (*model.Reply, error) {
	r := new(model.Reply)
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return r, err
		}
		r.Add(d)
	}
	return r, nil
}

func TestByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := fakemodel.New()
		replies := make(chan *model.Reply)
		go func() {
			r, err := ask(t.Context(), m, &model.Request{System: "s"})
			if err != nil {
				t.Errorf("the stream failed: %v", err)
			}
			replies <- r
		}()
		x := m.Next()
		if x.Request.System != "s" {
			t.Errorf("request = %+v", x.Request)
		}
		time.Sleep(time.Hour) // a slow model costs no real time
		x.Thought("hm")
		x.Text("a")
		x.Call("1", "todo", "{}")
		x.Usage(model.Usage{Input: 4})
		x.End()
		x.Text("after the end") // does nothing
		r := <-replies
		if r.Text != "a" || r.Reasoning != "hm" || len(r.Calls) != 1 || r.Finish != model.FinishCalls || r.Usage.Input != 4 {
			t.Errorf("reply = %+v", r)
		}
	})
}

func TestCancelAndFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := fakemodel.New()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		stream := func(ctx context.Context) { _, err := ask(ctx, m, &model.Request{}); errs <- err }

		go stream(ctx)
		x := m.Next()
		x.Text("a")
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled while streaming: %v", err)
		}
		x.Text("nobody listens") // must not block without a reader
		<-x.Gone()

		go stream(ctx) // already canceled, and the test does not call Next
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled while waiting: %v", err)
		}

		go stream(t.Context())
		m.Next().Fail(io.ErrUnexpectedEOF)
		if err := <-errs; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("failed: %v", err)
		}
	})
}

func TestScriptAndRequests(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(
		func(x *fakemodel.Exchange) { x.Call("1", "todo", "{}") },
		func(x *fakemodel.Exchange) { x.Text("done") },
	)
	messages := []model.Message{model.NewMessage(model.User, "go")}
	if r, err := ask(t.Context(), m, &model.Request{Messages: messages}); err != nil || r.Finish != model.FinishCalls {
		t.Errorf("first: %+v, %v", r, err)
	}
	messages = append(messages, model.ResponseMessage("", "x"))
	if r, err := ask(t.Context(), m, &model.Request{Messages: messages}); err != nil || r.Text != "done" || r.Finish != model.FinishStop {
		t.Errorf("second: %+v, %v", r, err)
	}
	if _, err := ask(t.Context(), m, &model.Request{}); err == nil {
		t.Error("a third request was answered")
	}
	if got := m.Requests(); len(got) != 3 || len(got[0].Messages) != 1 || len(got[1].Messages) != 2 {
		t.Errorf("requests = %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ask(ctx, fakemodel.Script(func(x *fakemodel.Exchange) { x.Text("a") }), &model.Request{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled script: %v", err)
	}
}

func TestBreakingOff(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(func(x *fakemodel.Exchange) { x.Text("a"); x.Text("b") })
	n := 0
	for range m.Stream(t.Context(), &model.Request{}) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("deltas = %d", n)
	}
}
