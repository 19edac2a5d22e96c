package policy

import (
	"slices"
	"strings"
	"testing"
)

// mostHarmless is how many harmless commands may ask, at most.
const mostHarmless = 12

// The commands with which other agents test their allowlists show what users expect. Commands of
// harmless.txt must hardly ever require approval; no command of never.txt may run.
func TestPeers(t *testing.T) {
	t.Parallel()
	place := here
	place.Temp = []string{"/tmp", "/var/tmp"}
	judged := func(file string, least int, bad func(Level) bool) (found []string) {
		commands := commandsIn(t, file)
		if len(commands) < least {
			t.Errorf("only %d commands in %s", len(commands), file)
		}
		for _, src := range commands {
			src = strings.ReplaceAll(src, "⇥", "\t")
			if v := Command(src, place); bad(v.Level) {
				found = append(found, src+" ("+v.Reason+")")
			}
		}
		return found
	}
	asked := judged("harmless.txt", 250, func(l Level) bool { return l != Runs })
	if len(asked) > mostHarmless {
		t.Errorf("%d harmless commands ask, at most %d may:\n%s", len(asked), mostHarmless, strings.Join(asked, "\n"))
	}
	t.Logf("%d harmless commands ask:\n%s", len(asked), strings.Join(asked, "\n"))
	// In the session's own /tmp, single files can go; the peers have the machine's.
	inOwnTemp := func(found string) bool {
		return slices.Contains([]string{
			"rm --force /tmp/example ()", "rm /tmp/example -f ()", "if test -d /tmp/example; then rm --force /tmp/example; fi ()",
		}, found)
	}
	if ran := slices.DeleteFunc(judged("never.txt", 170, func(l Level) bool { return l == Runs }), inOwnTemp); len(ran) > 0 {
		t.Errorf("%d commands run that no agent allows:\n%s", len(ran), strings.Join(ran, "\n"))
	}
}
