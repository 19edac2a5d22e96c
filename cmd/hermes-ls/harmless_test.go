package main

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
)

// The JSON lines of run contain the model's text without marks of text direction.
func TestJSONEventsHaveNoDirections(t *testing.T) {
	t.Parallel()
	for _, e := range []agent.Event{agent.Text{Text: "a\u202eb\n\u2066c"}, agent.Thought{Text: "a\u202eb\n\u2066c"}} {
		if got := jsonEvent(e)["text"]; got != "ab\nc" {
			t.Errorf("%T: %+q", e, got)
		}
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\tb\nc":                     "a\tb\nc",
		"\x1b[31mred\x07":             "[31mred",
		"a\u009b31mb":                 "a31mb",
		"a\u202eb\u2066c\u2069":       "abc",
		"a\u200bb\u2028c\u2029\ufeff": "abc",
		"x\U000e0041\U000e007f":       "x",
		"👩\u200d👩 é":                  "👩\u200d👩 é",
	} {
		var out strings.Builder
		if _, err := (harmless{&out}).Write([]byte(text)); err != nil || out.String() != want {
			t.Errorf("%q becomes %q, %v; want %q", text, out.String(), err, want)
		}
	}
}
