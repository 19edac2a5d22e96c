package markup_test

import (
	"fmt"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/markup"
)

func ExampleFence() {
	fmt.Println(markup.Fence("plain"), markup.Fence("a ```` b"))
	// Output: ``` `````
}

func TestNoTextEndsItsCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": "`a`", "a`b": "``a`b``", "`a``": "``` `a`` ```", "": "``",
	} {
		if got := markup.Code(text); got != want {
			t.Errorf("Code(%q) = %q, want %q", text, got, want)
		}
	}
	if got := markup.Fenced("go", "x\n```\n"); got != "````go\nx\n```\n````" {
		t.Errorf("%q", got)
	}
	if got := markup.Quote(" a\n\nb\n"); got != "> a\n> \n> b" {
		t.Errorf("%q", got)
	}
}
