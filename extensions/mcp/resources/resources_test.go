package resources

import (
	"slices"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	t.Parallel()
	all := []Source{{Name: "docs"}, {Name: "my.db-2"}, {Name: "git"}}
	for prompt, want := range map[string][]string{
		"@docs:memo://a, and (@my.db-2:db://t/1).":                              {"docs memo://a", "my.db-2 db://t/1"},
		`@docs:"memo://a b" @docs:memo://c @docs:memo://c`:                      {"docs memo://a b", "docs memo://c"},
		"`@docs:memo://a` me@docs:memo://a @other:x://y @docs:plain @git:a://b": nil,
	} {
		var got []string
		for _, m := range Mentions(prompt, all) {
			got = append(got, m.Server+" "+m.URI)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", prompt, got)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", mostContent)
	part, truncated := cut(long, 0)
	if !truncated || len(part) > mostContent {
		t.Errorf("%d bytes, truncated %v", len(part), truncated)
	}
	if part, truncated = cut(long, len(long)-3); part != "é" || truncated {
		t.Errorf("the end is %q, truncated %v", part, truncated)
	}
	if part, truncated = cut("a", 99); part != "" || truncated {
		t.Errorf("after the end: %q, %v", part, truncated)
	}
}
