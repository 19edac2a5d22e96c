package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/tools"
)

// TestBudget checks the limit for the results of a response's calls. The calls of the next
// response get the whole limit again.
func TestBudget(t *testing.T) {
	t.Parallel()
	big := tools.New(tools.Tool{Name: "big", ReadOnly: true}, func(_ context.Context, _ *tools.Env, c tools.Call, _ struct{}) (tools.Result, error) {
		return tools.OK(map[string]string{"call": c.ID, "text": strings.Repeat(c.ID+" ", 40_000)}), nil
	})
	calls := func(x *fakemodel.Exchange) {
		for i := range 6 {
			x.Call(fmt.Sprintf("c%d-%d", len(x.Request.Messages), i), "big", `{}`)
		}
	}
	m := fakemodel.Script(calls, calls, func(x *fakemodel.Exchange) { x.Text("Done.") })
	st := openStore(t)
	s := begin(t, agent.Config{CompactAt: -1, Model: m, Store: st, Tools: toolSet(t, big), Env: &tools.Env{OutputDir: t.TempDir()}})
	if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, m := range messages(t, st, s.ID()) {
		if m.Name() == "big" {
			sizes = append(sizes, len(m.Text()))
			if cut := len(m.Text()) < 90_000; cut && !strings.Contains(m.Text(), `"full_result"`) {
				t.Errorf("a cut result does not say where it is whole: %.200s", m.Text())
			}
		}
	}
	if len(sizes) != 12 {
		t.Fatalf("%d results", len(sizes))
	}
	for _, reply := range [][]int{sizes[:6], sizes[6:]} {
		sum := 0
		for _, n := range reply {
			sum += n
		}
		if reply[0] < 90_000 || sum > 210_000 || reply[5] == 0 || reply[5] > 2_000 {
			t.Errorf("sizes %v", reply)
		}
	}
}
