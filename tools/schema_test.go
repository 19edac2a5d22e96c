package tools

import "testing"

// Each session makes the built-in tools again. What is known of their inputs is not made
// again, and nobody can change it through a tool.
func TestInputsAreDescribedOnce(t *testing.T) {
	t.Parallel()
	first := Builtin()
	before := string(first[0].Schema)
	first[0].Schema[0] = '!'
	again := Builtin()
	for i, tool := range again {
		if tool.accepts != first[i].accepts {
			t.Errorf("%s was described twice", tool.Name)
		}
	}
	if got := string(again[0].Schema); got != before {
		t.Errorf("a changed schema was kept: %s", got)
	}
}
