package prompt_test

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
)

// TestChild checks the place of a subagent's task: it is last, so subagents share a prefix.
func TestChild(t *testing.T) {
	t.Parallel()
	c := config()
	one := prompt.Child(c, prompt.Task{Goal: "Find the leak", Context: "In the pool"})
	two := prompt.Child(c, prompt.Task{Goal: "Write the docs", Answer: `{"type":"object"}`})
	shared := strings.Index(one, "Find the leak")
	if shared < 0 || !strings.HasPrefix(two, one[:shared]) || !strings.HasSuffix(one, "In the pool\n") {
		t.Errorf("the tasks share too little:\n%s", one)
	}
	if !strings.Contains(two, `{"type":"object"}`) || strings.Contains(two, "# Context") {
		t.Errorf("the answer's form:\n%s", two)
	}
	if n := len(one); n > 5000 {
		t.Errorf("%d bytes", n)
	}
	c.Tools = []prompt.Tool{{Name: "read"}}
	if text := prompt.Child(c, prompt.Task{Goal: "x"}); strings.Contains(text, "Edit with") || strings.Contains(text, "{{") || strings.Contains(text, "\n{") {
		t.Errorf("with reading tools only:\n%s", text)
	}
}
