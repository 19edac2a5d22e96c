package policy

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
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

// Each function that a rule file names judges a program without arguments.
func TestHandlers(t *testing.T) {
	t.Parallel()
	for name, p := range rules().programs {
		for _, handler := range p.handlers {
			j := newAnalyzer(name, here)
			handler(j, &call{name: name, words: []field{{text: name}}, st: j.start()})
		}
	}
}

// A rule file that is not well formed is an error with its place.
func TestRuleErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"asks -f: deletes":                  "no block",
		"program x\ndoes -f":                "unknown word",
		"program x\nasks -f":                "wrong form",
		"program x\nmatch x":                "without a rule",
		"program x\nby nothing":             "no function",
		"  x y":                             "in no list",
		"program x\nwrites":                 "wrong form",
		"list a\n  b\nprogram x\nelse when": "unknown word",
	} {
		_, err := readRules(fstest.MapFS{"rules/a.txt": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "rules/a.txt:") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
