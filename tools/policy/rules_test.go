package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// Each rule applies to its example commands and to no examples of other rules.
func TestRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("rules/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		reason := "" // of the last rule
		for i, line := range strings.Split(string(text), "\n") {
			word, command, _ := strings.Cut(line, " ")
			if word != "match" && word != "not_match" {
				_, reason, _ = strings.Cut(line, ": ")
				continue
			}
			examples++
			v := Command(command, here)
			variable, _, _ := strings.Cut(command, "=")
			applies := slices.Contains(strings.Split(v.Reason, "; "), strings.ReplaceAll(reason, "{name}", variable))
			if reason == "" {
				applies = v.Level != Runs
			}
			if applies != (word == "match") {
				t.Errorf("%s:%d: %s %q: %s (%s)", file, i+1, word, command, v.Level, v.Reason)
			}
		}
	}
	if examples < 200 {
		t.Errorf("only %d examples", examples)
	}
}

// Each action of a rule exists, and judges a program without arguments.
func TestActions(t *testing.T) {
	t.Parallel()
	known := actions()
	for name, p := range rules.All().Programs {
		for _, r := range p.Rules {
			if len(r.What) > 0 && known[r.Action] == nil && !contains("line evaluates within runs script configures", r.Action) {
				t.Errorf("%s: no function %q", name, r.Action)
				continue
			}
			j := newAnalyzer(name, here)
			newTerms(j, &call{name: name, words: []field{{text: name}}, st: j.start()}, p).do(r)
		}
	}
}
