package app_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// A goal out of reach continues a turn 20 times. Each request of the session extends the previous
// request, and the judge gets no history and no tools.
func TestGoalIsBounded(t *testing.T) {
	t.Parallel()
	isJudge := func(r *model.Request) bool { return strings.HasPrefix(r.Messages[0].Text(), "# Goal\n\nwin") }
	m := fakemodel.Func(func(x *fakemodel.Exchange) {
		if isJudge(x.Request) {
			x.Text(`{"verdict":"continue","reason":"not won"}`)
		} else {
			x.Text("I try.")
		}
		x.End()
	})
	svc := app.New(server.Options{Home: t.TempDir(), Environ: []string{}, Model: m, Static: true})
	t.Cleanup(func() { _ = svc.Close() })
	x, err := svc.NewSession(t.Context(), server.Place{Cwd: t.TempDir()}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if stop, err := x.Prompt(t.Context(), agent.Input{Text: "/goal win"}, nil); stop != agent.EndTurn || err != nil {
		t.Fatal(stop, err)
	}
	judged := 0
	var before *model.Request
	for _, r := range m.Requests() {
		if isJudge(r) {
			if judged++; len(r.Tools) > 0 || len(r.Messages) != 1 {
				t.Fatalf("a judgment has %d tools and %d messages", len(r.Tools), len(r.Messages))
			}
			continue
		}
		if before != nil && (r.System != before.System || !reflect.DeepEqual(r.Tools, before.Tools) || !reflect.DeepEqual(r.Messages[:len(before.Messages)], before.Messages)) {
			t.Fatal("a request does not extend the one before")
		}
		before = r
	}
	if all := len(m.Requests()); judged != 21 || all != 42 {
		t.Errorf("%d judgments of %d requests, want 21 of 42", judged, all)
	}
}
