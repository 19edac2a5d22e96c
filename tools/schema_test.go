package tools

import "testing"

// Each session makes its tools again. Their inputs are described once, and a change of a
// tool's schema does not reach other tools.
func TestInputsAreDescribedOnce(t *testing.T) {
	t.Parallel()
	first := sample("sample")
	before := string(first.Schema)
	first.Schema[0] = '!'
	again := sample("sample")
	if again.accepts != first.accepts {
		t.Errorf("%s was described twice", again.Name)
	}
	if got := string(again.Schema); got != before {
		t.Errorf("a changed schema was kept: %s", got)
	}
}
