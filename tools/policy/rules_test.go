package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// Each rule applies to the commands that it names as examples, and to none of the others.
func TestRules(t *testing.T) {
	t.Parallel()
	set := rules.All()
	examples := 0
	for name, p := range set.Programs {
		for _, r := range p.Rules {
			applies := func(command string) bool {
				v := Command(command, here)
				if r.Reason == "" {
					return v.Level != Runs
				}
				variable, _, _ := strings.Cut(command, "=")
				return slices.Contains(strings.Split(v.Reason, "; "), strings.ReplaceAll(r.Reason, "{name}", variable))
			}
			for _, command := range r.Match {
				if examples++; !applies(command) {
					t.Errorf("%s: %q does not match the rule (of %s)", r.At, command, name)
				}
			}
			for _, command := range r.Not {
				if examples++; applies(command) {
					t.Errorf("%s: %q matches the rule (of %s)", r.At, command, name)
				}
			}
		}
	}
	if examples < 200 {
		t.Errorf("only %d examples", examples)
	}
}

// Each function that a rule file names exists, and judges a program without arguments.
func TestHandlers(t *testing.T) {
	t.Parallel()
	for name, p := range rules.All().Programs {
		for _, r := range p.Rules {
			if r.Action != "by" {
				continue
			}
			handler := handlers()[r.What[0]]
			if handler == nil {
				t.Errorf("%s: no function %q", r.At, r.What[0])
				continue
			}
			j := newAnalyzer(name, here)
			handler(j, &call{name: name, words: []field{{text: name}}, st: j.start()})
		}
	}
}
