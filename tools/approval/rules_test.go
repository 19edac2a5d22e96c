package approval

import (
	"slices"
	"strings"
	"testing"
)

// Each rule applies to the commands that it names as examples, and to none of the others.
func TestRules(t *testing.T) {
	t.Parallel()
	set, err := readRules(ruleFiles)
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for name, p := range set.programs {
		for _, r := range p.rules {
			applies := func(command string) bool {
				v := Command(command, here)
				if r.reason == "" {
					return v.Level != Runs
				}
				return slices.Contains(strings.Split(v.Reason, "; "), r.reason)
			}
			for _, command := range r.match {
				if examples++; !applies(command) {
					t.Errorf("%s: %q does not match the rule (of %s)", r.at, command, name)
				}
			}
			for _, command := range r.not {
				if examples++; applies(command) {
					t.Errorf("%s: %q matches the rule (of %s)", r.at, command, name)
				}
			}
		}
	}
	if examples < 200 {
		t.Errorf("only %d examples", examples)
	}
}
