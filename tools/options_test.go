package tools_test

import (
	"slices"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// The options keep their order and name the remembered text. If a decision cannot be remembered,
// its option is left out.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q    tools.ApprovalRequest
		want []string
	}{
		{tools.ApprovalRequest{Remember: "rm x", Keys: []string{"rm x"}}, []string{"Allow once", "Allow for this session: rm x", "Always allow: rm x", "Deny"}},
		{tools.ApprovalRequest{Remember: "edits of a.go"}, []string{"Allow once", "Allow for this session: edits of a.go", "Deny"}},
		{tools.ApprovalRequest{}, []string{"Allow once", "Deny"}},
		{tools.ApprovalRequest{Remember: "x", Choices: []tools.Choice{{ID: "a", Label: "A"}}}, []string{"A"}},
	} {
		var got []string
		for _, o := range c.q.Options() {
			got = append(got, o.Label)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
