package gate

import (
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// A line may change files for agents without a review only if git takes them from a repository.
func TestOnlyGit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"git pull":                                  true,
		"git checkout main && ls":                   true,
		"git status":                                false,
		"git apply made.patch":                      false,
		"git checkout main && git am made.mbox":     false,
		"git rebase --exec ./run main":              false,
		"git -c core.hooksPath=hooks checkout main": false,
		"make && git pull":                          false,
	} {
		v := policy.Command(line, policy.Scope{Cwd: "/ws", Roots: []string{"/ws"}, Home: "/home/u"})
		if got := onlyGit(v.Commands); got != want {
			t.Errorf("%q: only git is %v, want %v (%q)", line, got, want, v.Commands)
		}
	}
}
