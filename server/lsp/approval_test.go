package lsp

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Who looks for an answer by its word finds that answer only.
func TestEachChoiceHasItsWordAlone(t *testing.T) {
	t.Parallel()
	words := []string{"once", "session", "always", "no"}
	for i, c := range choicesFor(tools.Question{Title: "rm x", Remember: "rm x"}) {
		for j, word := range words {
			if has := strings.Contains(c.title, word); has != (i == j) {
				t.Errorf("%q: has %q = %v", c.title, word, has)
			}
		}
	}
}

// If nothing can be remembered, no choice says that it would be.
func TestChoicesThatRememberNothing(t *testing.T) {
	t.Parallel()
	choices := choicesFor(tools.Question{Title: "ls | xargs sh"})
	if len(choices) != 2 || choices[0].decision != tools.DecisionOnce || choices[1].decision != tools.DecisionNo {
		t.Errorf("%+v", choices)
	}
}
