package rules

import (
	"strings"
	"testing"
	"testing/fstest"
)

// A rule file that is not well formed is an error with its place.
func TestRuleErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"asks -f: deletes":                  "no block",
		"program x\ndoes -f":                "unknown word",
		"program x\nasks -f":                "wrong form",
		"program x\nmatch x":                "without a rule",
		"  x y":                             "in no list",
		"program x\nwrites":                 "wrong form",
		"list a\n  b\nprogram x\nelse when": "unknown word",
	} {
		_, err := Read(fstest.MapFS{"a.txt": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "rules/a.txt:") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
