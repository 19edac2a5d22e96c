package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools"
)

// chooser is a host that answers its requests in order.
type chooser struct {
	guest
	answers   []tools.Decision
	questions []tools.ApprovalRequest
}

func (c *chooser) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	c.questions = append(c.questions, q)
	if len(c.answers) == 0 {
		return "", nil
	}
	a := c.answers[0]
	c.answers = c.answers[1:]
	return a, nil
}

// The mode changes neither the system prompt nor the tools, and each request extends the previous
// request. The model learns of the mode once when it begins and once when it ends, also after a
// restart.
func TestPlanModeKeepsThePrefix(t *testing.T) {
	t.Parallel()
	presents := func(x *fakemodel.Exchange) { x.Call("1", "present_plan", `{"plan":"1. Look."}`); x.End() }
	m := fakemodel.Script(
		says("Hi."), says("I plan."), presents, presents, says("Started."), presents, says("Not planning."), says("Later."),
	)
	home, cwd := t.TempDir(), t.TempDir()
	start := func() *server.Service {
		return app.New(server.Options{Home: home, Environ: []string{"TEST=1"}, Model: m, Static: true})
	}
	s := start()
	host := &chooser{answers: []tools.Decision{tools.Decision("plan"), tools.Decision("plan"), tools.Decision("auto")}}
	x, err := s.NewSession(t.Context(), server.Place{Cwd: cwd}, host)
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string) {
		t.Helper()
		if _, err := x.Prompt(t.Context(), agent.Input{Text: text}, nil); err != nil {
			t.Fatal(err)
		}
	}
	say("one")
	if err := x.SetMode(t.Context(), server.ModePlan); err != nil {
		t.Fatal(err)
	}
	say("two") // its text is the plan: keep planning
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start()
	t.Cleanup(func() { _ = s.Close() })
	if x, err = s.LoadSession(t.Context(), x.ID(), server.Place{}, host); err != nil {
		t.Fatal(err)
	}
	if x.Mode() != server.ModePlan {
		t.Errorf("after a restart the mode is %s", x.Mode())
	}
	say("three") // keep planning ends the turn
	say("four")  // started
	if x.Mode() != server.ModeAuto {
		t.Errorf("the mode is %s", x.Mode())
	}
	say("five") // present_plan in mode auto is an error
	if err := x.SetMode(t.Context(), server.ModePlan); err != nil {
		t.Fatal(err)
	}
	if err := x.SetMode(t.Context(), server.ModeAsk); err != nil {
		t.Fatal(err)
	}
	say("six") // nothing has changed for the model

	requests := m.Requests()
	if len(requests) != 8 || len(host.questions) != 3 {
		t.Fatalf("%d requests, %d questions", len(requests), len(host.questions))
	}
	for i, r := range requests[1:] {
		before := requests[i]
		if r.System != before.System || !slices.EqualFunc(r.Tools, before.Tools, func(a, b model.Tool) bool {
			return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
		}) {
			t.Errorf("request %d has another system prompt or other tools", i+2)
		}
		for j := range before.Messages {
			if a, b := encoded(before.Messages[j]), encoded(r.Messages[j]); a != b {
				t.Errorf("request %d changes message %d:\n%s\n%s", i+2, j, a, b)
			}
		}
	}
	var all strings.Builder
	for _, message := range requests[7].Messages {
		all.WriteString(message.Text() + "\n")
	}
	for text, n := range map[string]int{"Plan mode is on.": 1, "has approved the plan. Plan mode is off.": 1, "Calls may change files again": 0, "The user keeps planning": 1, "not in plan mode": 1} {
		if got := strings.Count(all.String(), text); got != n {
			t.Errorf("%q %d times, want %d:\n%s", text, got, n, all.String())
		}
	}
	for i, want := range []string{"I plan.", "1. Look.", "1. Look."} {
		if q := host.questions[i]; q.Text != want || len(q.Choices) != 3 {
			t.Errorf("question %d: %+v", i, q)
		}
	}
	i := slices.IndexFunc(requests[0].Tools, func(t model.Tool) bool { return t.Name == "present_plan" })
	if i < 0 {
		t.Fatal("present_plan is not offered")
	}
	tool := requests[0].Tools[i]
	size := len(encoded(map[string]any{"type": "function", "function": map[string]any{"name": tool.Name, "description": tool.Description, "parameters": json.RawMessage(tool.Schema)}}))
	if size > 350 {
		t.Errorf("present_plan has %d bytes in a request", size)
	}
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
