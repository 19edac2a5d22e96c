package gate

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// noUser is an editor without approval requests: its error lists the entries for the action.
type noUser struct{ keys []string }

func (n *noUser) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	n.keys = q.Keys
	return tools.DecisionDeny, &Unanswered{Why: "this editor cannot ask", How: "add " + Entries(q.Keys) + " to command_allowlist"}
}

// quotedIn returns the quoted texts of an advice.
func quotedIn(t *testing.T, advice string) (entries []string) {
	t.Helper()
	for rest := advice; ; {
		i := strings.IndexByte(rest, '"')
		if i < 0 {
			return entries
		}
		quoted, err := strconv.QuotedPrefix(rest[i:])
		if err != nil {
			t.Fatalf("%q: %v", advice, err)
		}
		entry, _ := strconv.Unquote(quoted)
		entries, rest = append(entries, entry), rest[i+len(quoted):]
	}
}

// The printed entries of the advice, copied into command_allowlist, allow the command. The first of
// several is needed.
func TestAdviceWorksAsPrinted(t *testing.T) {
	t.Parallel()
	parts := []string{
		"rm -rf build", "git push --force origin main", `rm -rf "a  b"`, `rm -rf 'it"s'`, "git reset --hard HEAD~1", "chmod -R 777 .", "docker push x: y",
		"kill -9 -1000", "git clean -fdx", "rm -rf ./ünï/世界", "git branch -D feature#1", "npm publish", "echo x > .envrc", "sudo ls", "find . -name '*.o' -delete",
	}
	random := rand.New(rand.NewPCG(36, 10))
	for range 400 {
		var src strings.Builder
		for i := range 1 + random.IntN(4) {
			if i > 0 {
				src.WriteString([]string{" && ", "; ", " || ", "\n", " & "}[random.IntN(5)])
			}
			src.WriteString(parts[random.IntN(len(parts))])
		}
		user := &noUser{}
		err := check(t.Context(), New(Config{Asker: user}), src.String())
		var rejected *Rejection
		if !errors.As(err, &rejected) || len(user.keys) == 0 {
			continue // it runs, or nothing can be remembered
		}
		_, advice, _ := strings.Cut(rejected.Text, "To allow it, the user can add ")
		entries := quotedIn(t, advice)
		if err := check(t.Context(), New(Config{Allow: entries}), src.String()); err != nil {
			t.Errorf("%q with %q: %v", src.String(), entries, err)
		}
		if len(entries) > 1 && check(t.Context(), New(Config{Allow: entries[1:]}), src.String()) == nil {
			t.Errorf("%q: the entry %q is not needed", src.String(), entries[0])
		}
	}
}
