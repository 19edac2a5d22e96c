package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// TestEqualCallsOfOneResponse checks equal calls in a response. They count once, because the
// model has not seen a result before the second call. The notice names the tool.
func TestEqualCallsOfOneResponse(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]string{"clock": "clock", "": "a tool without a name", "no such tool": "no_such_tool"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, responses := range []int{1, 4, 5} {
				n := 0
				m := fakemodel.Func(func(x *fakemodel.Exchange) {
					if n++; n > responses {
						x.Text("done")
						return
					}
					for i := range 6 {
						x.Call(fmt.Sprintf("c%d_%d", n, i), name, "{}")
					}
				})
				sink := &recorder{}
				if _, err := begin(t, agent.Config{Model: m, Tools: toolSet(t, quick("clock", true))}).Turn(t.Context(), agent.Input{Text: "go"}, sink); err != nil {
					t.Fatal(err)
				}
				notices := of[agent.Notice](sink)
				if stopped := n == responses; stopped != (responses == 5) {
					t.Errorf("%d responses: %d requests, notices %v", responses, n, notices)
				}
				if responses == 5 && (len(notices) != 1 || !strings.Contains(notices[0].Text, "of "+told+" ")) {
					t.Errorf("notices %v", notices)
				}
			}
		})
	}
}
