package safefile_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

func TestNameOf(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"x", "019ab2c3-0000-7000-8000-000000000000", "20251122_040506_abc", "a..b", strings.Repeat("a", 128)} {
		if !safefile.IsName(id) || safefile.NameOf(id) != id {
			t.Errorf("%q is no name", id)
		}
	}
	seen := map[string]bool{}
	for _, id := range []string{"", ".", "..", "../..", "/etc", "a/b", `a\b`, "a/../..", "C:x", "-x", ".x", "_x", "a b", "a\x00", "a\n", "é", "a%2f", strings.Repeat("a", 129)} {
		name := safefile.NameOf(id)
		if safefile.IsName(id) || seen[name] || filepath.Dir(filepath.Join("d", name)) != "d" {
			t.Errorf("%q has the name %q", id, name)
		}
		seen[name] = true
	}
}
