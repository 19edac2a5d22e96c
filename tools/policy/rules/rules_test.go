package rules

import (
	"strings"
	"testing"
	"testing/fstest"
)

// An error in a malformed rule file names its position.
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

// concepts is the number of words in the rules: actions, properties and selectors. A new program
// uses existing words. Any other condition is a Go function with a separate test. The goal is 40.
const concepts = 73

func TestRulesHaveNoNewWords(t *testing.T) {
	t.Parallel()
	words := strings.Fields(strings.Join([]string{conditions, operands, phrases, properties, strings.ReplaceAll(selectors, "|", " "), "~ + @ ^ %"}, " "))
	if len(words) != concepts {
		t.Errorf("the rules have %d words, not %d:\n%s", len(words), concepts, strings.Join(words, " "))
	}
}
