package lsp

import (
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// The options have their names and order, and say what is remembered.
func TestChoices(t *testing.T) {
	t.Parallel()
	want := []choice{
		{tools.DecisionOnce, "Allow once"}, {tools.DecisionSession, "Allow for this session: rm x"},
		{tools.DecisionAlways, "Always allow: rm x"}, {tools.DecisionDeny, "Deny"},
	}
	if got := choicesFor(tools.ApprovalRequest{Title: "rm x", Remember: "rm x"}); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// If nothing can be remembered, no choice says that it would be.
func TestChoicesThatRememberNothing(t *testing.T) {
	t.Parallel()
	choices := choicesFor(tools.ApprovalRequest{Title: "ls | xargs sh"})
	if len(choices) != 2 || choices[0].decision != tools.DecisionOnce || choices[1].decision != tools.DecisionDeny {
		t.Errorf("%+v", choices)
	}
}
