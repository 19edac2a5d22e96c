package demo

import (
	"strings"
	"testing"
)

// TestProgress checks that each prompt has its number, also while the output is muted in between.
func TestProgress(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := newScreen(&out, false, 0, 4)
	s.prompt("first")
	s.mute(true)
	s.lines("not shown")
	s.mute(false)
	s.prompt("second")
	if got, want := out.String(), "\n1 of 4 › first\n\n2 of 4 › second\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
