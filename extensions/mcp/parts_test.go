package mcp

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ server, tool, want string }{
		{"github", "create_issue", "mcp__github__create_issue"},
		{"my server", "a.b/c", "mcp__my_server__a_b_c"},
		{"a__b", "x", "mcp__a_b__x"},
		{"日本", "", "mcp__x__x"},
	} {
		if got := fullName(labelOf(tc.server), tc.tool); got != tc.want {
			t.Errorf("%s of %s is called %s, want %s", tc.tool, tc.server, got, tc.want)
		}
	}
	if got := labelOf(strings.Repeat("s", 60)); len(got) != labelLimit {
		t.Errorf("a long server's name: %s", got)
	}
	long := fullName("label", strings.Repeat("a", 100))
	if len(long) != nameLimit || long == fullName("label", strings.Repeat("a", 101)) {
		t.Errorf("long names: %s", long)
	}
	taken := map[string]int{}
	if a, b := unique("x", taken), unique("x", taken); a != "x" || b != "x_2" {
		t.Errorf("the same name twice: %s, %s", a, b)
	}
}
