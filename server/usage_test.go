package server

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// The usage of each request says which share of it came from the prompt cache.
func TestCachedShareOfARequest(t *testing.T) {
	t.Parallel()
	used := func(u model.Usage) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) { x.Usage(u); x.Text("hi"); x.End() }
	}
	m := fakemodel.Script(used(model.Usage{Input: 1000, Output: 5}), used(model.Usage{Input: 2000, Output: 5, CachedRead: 1600}))
	x, g := session(t, open(t, Options{Model: m, Static: true}), t.TempDir())
	for _, want := range []string{"1,000 tokens in, 0 % of them", "2,000 tokens in, 80 % of them from the prompt cache"} {
		prompt1(t, x, "go")
		if text, err := statusText(t.Context(), x, ""); err != nil || !strings.Contains(text, want) {
			t.Errorf("/status has no %q: %s, %v", want, text, err)
		}
	}
	var shares []int
	for _, e := range g.events {
		if u, ok := e.(agent.UsageChanged); ok {
			shares = append(shares, u.Last.CachedRead)
		}
	}
	if len(shares) != 2 || shares[0] != 0 || shares[1] != 1600 {
		t.Errorf("cached tokens of the requests: %v", shares)
	}
}

// /usage shows the cost of the session and of today, and says where no price is known.
func TestUsageCommand(t *testing.T) {
	t.Parallel()
	used := func(u model.Usage) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) { x.Usage(u); x.Text("hi"); x.End() }
	}
	m := fakemodel.Script(used(model.Usage{Input: 1000, Output: 5, CachedRead: 800, Cost: 0.25}), used(model.Usage{Input: 10, Output: 1}))
	x, _ := session(t, open(t, Options{Model: m, Static: true}), t.TempDir())
	for i, want := range []string{
		"session and its subagents: $0.0000, 0 requests, ",
		"session and its subagents: $0.2500, 1 request, 1,000 tokens in (800 cached), 5 out\n- Today: $0.2500, 1 request, ",
		"session and its subagents: $0.2500 (no price is known for 1 of the requests), 2 requests, 1,010 tokens in",
	} {
		if i > 0 {
			prompt1(t, x, "go")
		}
		if text, err := usageText(t.Context(), x, ""); err != nil || !strings.Contains(text, want) {
			t.Errorf("/usage has no %q: %s, %v", want, text, err)
		}
	}
}
