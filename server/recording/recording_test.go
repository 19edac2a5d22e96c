package recording_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server/recording"
)

func TestRecording(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []string
		r := recording.New(func(goal string, items []byte) { got = append(got, goal+" "+string(items)) })
		m := r.Model(fakemodel.Script(
			func(x *fakemodel.Exchange) { x.Thought("Hm"); x.Text("a"); time.Sleep(time.Second); x.Text("b") },
			func(x *fakemodel.Exchange) { x.Call("1", "read_file", `{"path":"x"}`); x.Call("2", "patch", `{"pa`) },
			func(x *fakemodel.Exchange) { x.Text("a"); x.Fail(errors.New("no")) },
			func(x *fakemodel.Exchange) { x.Text("of the goal") },
			func(x *fakemodel.Exchange) { x.Text("a"); <-x.Context().Done() },
		))
		ask := func(ctx context.Context, text string) {
			for range m.Stream(ctx, &model.Request{Messages: []model.Message{model.NewMessage(model.User, text)}}) {
			}
		}
		for range 3 {
			ask(t.Context(), "a prompt")
		}
		r.Event("s", agent.ChildStarted{Child: agent.Child{Goal: "a goal"}})
		ask(t.Context(), "a goal")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		ask(ctx, "a prompt")
		want := []string{
			` [{"thought":"Hm"},{"text":"a"},{"sleep":"1s"},{"text":"b"}]`,
			` [{"call":{"id":"1","name":"read_file","args":{"path":"x"}}},{"call":{"id":"2","name":"patch","raw":"{\"pa"}}]`,
			` [{"text":"a"},{"fail":"no"}]`,
			`a goal [{"text":"of the goal"}]`,
			` [{"text":"a"},{"hold":true}]`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("recorded\n%q, want\n%q", got, want)
		}
	})
}
