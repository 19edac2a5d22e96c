package tools

import (
	"context"
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/policy"
)

type watchful struct {
	Approver
	seen func()
}

func (w watchful) Check(context.Context, *Env, Call, Kind, string, policy.Verdict) error {
	w.seen()
	return nil
}

// A call runs from the start of its process on, and not while it waits for the user.
func TestWaitingIsNotRunning(t *testing.T) {
	t.Parallel()
	var events []string
	note := func(text string) { events = append(events, text) }
	b := Admission{Running: []func(context.Context) func(){func(context.Context) func() {
		note("begin")
		return func() { note("end") }
	}}}
	tool := Tool{Name: "x", TellsRunning: true, Run: func(ctx context.Context, env *Env, _ Call) (Result, error) {
		ask := func() { _ = env.Gate.Check(ctx, env, Call{}, KindOther, "", policy.Verdict{}) }
		ask()
		note("start")
		ended := env.Running(ctx)
		ask()
		resume := env.Waiting(ctx)
		ask()
		resume()
		ended()
		ask()
		return OK(map[string]any{}), nil
	}}
	if _, err := b.run(t.Context(), &Env{Gate: watchful{seen: func() { note("asked") }}}, tool, Call{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"asked", "start", "begin", "end", "asked", "begin", "end", "asked", "begin", "end", "asked"}
	if !slices.Equal(events, want) {
		t.Errorf("%q, want %q", events, want)
	}
}
