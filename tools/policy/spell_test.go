package policy

import "testing"

// Ways in which other programs run or delete something, in many spellings.
func TestSpellings(t *testing.T) {
	t.Parallel()
	commands := commandsIn(t, "spellings.txt")
	for _, src := range commands {
		v := Command(src, here)
		if v.Level == Runs {
			t.Errorf("runs: %s", src)
		}
		checkShape(t, src, v)
	}
	if len(commands) < 500 {
		t.Errorf("only %d", len(commands))
	}
}
