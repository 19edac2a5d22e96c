package server

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/tools"
)

// chooser is a guest whose user gives answers in sequence.
type chooser struct {
	guest
	asking  sync.Mutex
	answers []tools.Decision
	asked   []tools.ApprovalRequest
}

func (c *chooser) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	c.asked = append(c.asked, q)
	answer := c.answers[0]
	c.answers = c.answers[1:]
	return answer, nil
}

// TestSpendingLimits checks that a turn stops before the request that could pass a limit, and what /usage and the model option say.
func TestSpendingLimits(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("sandbox: {mode: off}\nlimits: {session_tokens: 100000}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	spends := func(tokens int, call string) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) {
			x.Usage(model.Usage{Input: tokens, Output: 1})
			if call != "" {
				x.Call("1", "terminal", `{"command":"`+call+`"}`)
			} else {
				x.Text("done")
			}
			x.End()
		}
	}
	m := fakemodel.Script(spends(40_000, "true"), spends(40_000, "true"), spends(40_000, "true"), spends(100, ""), spends(100, ""))
	s := open(t, Options{Home: home, Model: m, Static: true})
	host := &chooser{answers: []tools.Decision{"stop", "raise"}}
	x, err := s.NewSession(t.Context(), Place{Cwd: t.TempDir()}, host)
	if err != nil {
		t.Fatal(err)
	}
	turn := func() agent.StopReason {
		t.Helper()
		stop, err := x.Prompt(t.Context(), agent.Input{Text: "go"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return stop
	}
	if stop := turn(); stop != agent.MaxTurnRequests || len(m.Requests()) != 3 || len(host.asked) != 1 {
		t.Errorf("%s after %d requests, asked %d times", stop, len(m.Requests()), len(host.asked))
	}
	if !slices.ContainsFunc(host.notices(), func(n string) bool {
		return strings.HasPrefix(n, "Stopped before the next request, which could pass limits.session_tokens: ") && strings.Contains(n, " of 100,000 tokens is spent")
	}) {
		t.Errorf("notices %q", host.notices())
	}
	text, err := usageText(t.Context(), x, "")
	if err != nil || !strings.Contains(text, "limits.session_tokens: 1") || !strings.Contains(text, " left") {
		t.Errorf("/usage: %s, %v", text, err)
	}
	if o := x.Options()[1]; !slices.ContainsFunc(o.Choices, func(c Choice) bool { return strings.Contains(c.Description, "limits.session_tokens: ") }) {
		t.Errorf("the model option says nothing: %+v", o)
	}
	if stop := turn(); stop != agent.EndTurn || len(host.asked) != 2 {
		t.Errorf("raised: %s, asked %d times", stop, len(host.asked))
	}
	again, err := open(t, Options{Home: home, Model: fakemodel.New(), Static: true}).LoadSession(t.Context(), x.ID(), Place{}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := usageText(t.Context(), again, ""); err != nil || !strings.Contains(text, "raised by 100,000 tokens for this session") {
		t.Errorf("/usage after a restart: %s, %v", text, err)
	}
	if q := host.asked[0]; q.Title != "Send the next request to the model" || len(q.Options()) != 3 || q.Options()[1].Label != "Raise by 100,000 tokens for this session" {
		t.Errorf("%+v", q)
	}
}
