//go:build linux

package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// If a request could not show all settings, it is not sent.
func TestTooManySettingsAreDenied(t *testing.T) {
	t.Parallel()
	who := toolstest.UserAnswering(tools.DecisionOnce, tools.DecisionOnce)
	env := &tools.Env{Gate: New(Config{Mode: "ask", Timeout: time.Minute, Asker: who})}
	for _, what := range []string{"the git setting alias.x = !sh, which runs a program", "AGENTS.md, which agents or tools obey"} {
		var changes []sandbox.Change
		for range mostShown + 1 {
			changes = append(changes, sandbox.Change{Path: "/w/x", What: what, Asks: true})
		}
		before := len(who.Asked)
		kept := Places{}.approved(t.Context(), env, tools.Call{ID: "1"}, changes, "")
		if settings := strings.HasPrefix(what, "the git "); kept == settings || (len(who.Asked) == before) != settings {
			t.Errorf("%s: kept %v, asked %d times", what, kept, len(who.Asked)-before)
		}
	}
}
