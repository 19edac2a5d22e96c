package chat

import (
	"strings"
	"testing"
)

// Progress shows names of files and output of commands: none of it moves a cursor or
// turns text around.
func TestOneLineHidesNothing(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"$ go  test\n./…": "$ go test ./…", "a\x1b]52;c;eA==\ab": "a⟨U+001B⟩]52;c;eA==⟨U+0007⟩b",
		"a\u202eb\u200bc": "a⟨U+202E⟩b⟨U+200B⟩c", "x\xffy": "x⟨0xFF⟩y",
	} {
		if got := OneLine(in, 80); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := OneLine(strings.Repeat("é ", 1<<20), 10); got != "é é é é é…" {
		t.Errorf("a long text became %q", got)
	}
}
