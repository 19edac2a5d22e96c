package agent_test

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model/embedded"
)

// TestScriptAndNotices sends a notice between two requests. It must not end the script of the
// embedded model.
func TestScriptAndNotices(t *testing.T) {
	t.Parallel()
	notices := [][]string{nil, {"process 1 has exited"}, {"process 2 has exited"}}
	s := begin(t, agent.Config{Model: embedded.Model{}, Tools: toolSet(t, quick("look", true)), Notices: func() (n []string) {
		if len(notices) > 0 {
			n, notices = notices[0], notices[1:]
		}
		return n
	}})
	r := &recorder{}
	stop, err := s.Turn(t.Context(), agent.Input{Text: "Go.\n```hermes-script\n" +
		`[{"call":{"name":"look","args":{}}}]` + "\n" + `[{"call":{"name":"look","args":{}}}]` + "\n" + `[{"text":"Done."}]` + "\n```"}, r)
	if err != nil || stop != agent.EndTurn || len(of[agent.CallEnded](r)) != 2 || s.Last().Text() != "Done." {
		t.Errorf("%s, %v, %+v", stop, err, s.Last())
	}
}
