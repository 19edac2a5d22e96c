package tokens_test

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/tokens"
)

// The estimates are compared with the counts of o200k.
func TestEstimate(t *testing.T) {
	t.Parallel()
	for text, o200k := range counts {
		if n := tokens.Estimate(text); n < o200k || n > 2*o200k+8 {
			t.Errorf("%d tokens are estimated, and there are %d: %.60q", n, o200k, text)
		}
	}
	if n := tokens.Estimate(strings.Repeat(" ", 1000)); n > 20 {
		t.Errorf("%d tokens for spaces", n)
	}
}

// counts holds the token counts of texts in o200k.
var counts = map[string]int{
	"active: lib/b.go:4:2, selected lines 4-6, visible 1-40\nopen: a.go (unsaved), lib/b.go\nproblems: lib/c.go 2 errors, a.go 1 warning\ngit: branch main, 3 changed, 2 untracked\nlimits: approval mode ask, sandbox workspace-write, network on\nmodel: gpt-5": 84,
	"files: ARCHITECTURE.md, CHANGELOG.md, CONTRIBUTING.md, Makefile, README.md, agent/{agent_test.go any_test.go bench_test.go branch.go}, bench/, builder/{asker.go session.go}, cmd/{hermes-ls/}, codeexec/":                                                   57,
	"commits: e8d671e docs: name the packages that were split, be2f3ba server/app: fail without Python":                                                                                                                                                           28,
	"func (s *Session) newHistory(ctx context.Context, totals store.Totals) (history, error) {\n\th := history{usage: totals.Usage}\n\treturn h, nil\n}\n":                                                                                                        40,
	"zqxwvk12-wqwqwqwq/pqrst12.ts, xkcdqw.go, f8a9c0d1e2b3, tmpfs_bkp_qrs.bin":                                                                                                                                                                                    41,
	"Der schnelle braune Fuchs springt über den faulen Hund. Änderungen übernehmen":                                                                                                                                                                               16,
	"これはテストです。変更を適用してください。":                                                                                                                                                                                                                                       11,
	"Привет, как дела? Файл не найден.":                                                                                                                                                                                                                           11,
	"HTTPServerConnectionPool, XMLHttpRequest, getElementById, MAX_BUFFER_SIZE_BYTES":                                                                                                                                                                             17,
}
