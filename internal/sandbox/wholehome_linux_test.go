package sandbox

import (
	"slices"
	"testing"
)

// With Landlock, a program that reads the whole home, such as a login shell, gets a rule for it.
func TestLandlockShowsTheWholeHome(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	reads, _ := rules(Policy{Mode: ReadOnly, Visible: []string{home}, view: &homeView{home: home}})
	if !slices.Contains(reads, home) {
		t.Errorf("%s is not among %q", home, reads)
	}
}
