package transcript

import (
	"strings"
	"testing"
)

func TestNesting(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain\ntext", "> quoted\n>> twice\n", "- a\n  - b\n    1. c\n", "---\n***\n", strings.Repeat(" ", 1000) + "code\n",
		strings.Repeat("-", 1000), "x " + strings.Repeat("> ", 1000), strings.Repeat("> ", 50) + "x", strings.Repeat("> x\n", 1000),
	} {
		if got := new(Nesting).Add(text); got != text {
			t.Errorf("%.60q became %.60q", text, got)
		}
	}
	for _, sign := range []string{"> ", ">", "- ", "+ ", "*\t", "1. ", "12) ", "> - "} {
		text := "a\n" + strings.Repeat(sign, 300) + "b\n"
		whole := new(Nesting).Add(text)
		before, after, cut := strings.Cut(whole, `\`)
		if !cut || before+after != text || strings.Count(before, strings.TrimSpace(sign)) > mostNested+2 {
			t.Errorf("%q: %.300q", sign, whole)
		}
		var n Nesting
		pieces := ""
		for i := range len(text) {
			pieces += n.Add(text[i : i+1])
		}
		if pieces != whole {
			t.Errorf("%q in pieces: %.300q", sign, pieces)
		}
		if again := new(Nesting).Add(whole); again != whole {
			t.Errorf("%q twice: %.300q", sign, again)
		}
	}
	list := ""
	for i := range 300 {
		list += strings.Repeat("  ", i) + "- a\n"
	}
	if got := strings.Count(new(Nesting).Add(list), `\`); got < 190 {
		t.Errorf("%d of 300 nested lists were stopped", got)
	}
}
