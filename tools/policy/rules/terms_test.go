package rules

import "testing"

// Each pattern of a rule is a regular expression.
func TestPatterns(t *testing.T) {
	t.Parallel()
	tests := 0
	for _, p := range All().Programs {
		for _, r := range p.Rules {
			for _, group := range r.When {
				for _, term := range group {
					term.Test.MatchString("") // a wrong expression panics
					tests++
				}
			}
		}
	}
	if tests < 500 {
		t.Errorf("only %d", tests)
	}
}
