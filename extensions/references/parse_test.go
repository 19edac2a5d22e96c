package references

import (
	"fmt"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"look at @file:main.go":                            "file main.go",
		"@file:a/b.go:3-9, and (@file:c.go:12).":           "file a/b.go 3-9|file c.go 12-0",
		`@file:"my file.txt":2-4 @folder:"a b"`:            "file my file.txt 2-4|folder a b",
		"@diff @staged, @problems!":                        "diff|staged|problems",
		"@git:3 @url:https://go.dev/a?b=c@d. @symbol:A.b":  "git 3|url https://go.dev/a?b=c@d|symbol A.b",
		`@file:C:\src\a.go:10`:                             `file C:\src\a.go 10-0`,
		"@file:file:///tmp/a%20b.go:2":                     "file file:///tmp/a%20b.go 2-0",
		"me@diff.com a@file:x @file: @file":                "",
		"@difference @diff.md @docs/a.md, (@b.go:3-9)":     "file difference|file diff.md|file docs/a.md|file b.go 3-9",
		"see @src/main.go#L3-L9 or @src/main.go#L5.":       "file src/main.go 3-9|file src/main.go 5-0",
		`@"my docs/a.md" and **@Makefile**`:                "file my docs/a.md",
		"@user@host.com @https://x.org/a.md @app.get('/')": "",
		"`@docs/a.md`":                        "",
		"`@file:a` and ``` @diff":             "diff",
		"```\n@file:a\n```\n@file:b":          "file b",
		"````go\n```\n@file:a\n````\n@file:b": "file b",
		"@file:a @file:a":                     "file a",
		"[@file:x](y)":                        "file x](y",
		"Read [@docs/a note.md](file:///w/docs/a%20note.md), @b.md":         "file file:///w/docs/a%20note.md|file b.md",
		"[@a [1](2).md](file:///w/a%20[1](2).md) [@ü.md](file:///w/ü.md)":   "file file:///w/a%20[1](2).md|file file:///w/ü.md",
		"[@a b.go#L1-L2](file:///w/a%20b.go#L1-L2) [@x y](https://x.dev/a)": "",
		`@"docs/a note.md":3-9 @"a b.go"#L3, @"a b.go:4"`:                   "file docs/a note.md 3-9|file a b.go 3-0|file a b.go 4-0",
		`@"a \"b\".md" @file:"c \"d\".md":2 @"C:\my dir\"`:                  `file a "b".md|file c "d".md 2-0|file C:\my dir\`,
		"@app/(auth)/[id]/page.tsx (@app/[id], @docs/ü.md).":                "file app/(auth)/[id]/page.tsx|file app/[id]|file docs/ü.md",
		"@file:app/(auth) (@file:a.go) @docs/a(1).md":                       "file app/(auth)|file a.go|file docs/a(1).md",
	} {
		var got []string
		for _, r := range Parse(prompt) {
			text := strings.TrimSpace(r.Kind + " " + r.Value)
			if r.First > 0 {
				text += fmt.Sprintf(" %d-%d", r.First, r.Last)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%q: %s, want %s", prompt, text, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("@file:a.go:1-2 `@diff` @url:x\n```\n@git:1\n```")
	f.Add("@file:\"a b\":3 @symbol:X::y @folder:a/.")
	f.Fuzz(func(t *testing.T, prompt string) {
		seen := map[string]bool{}
		for _, r := range Parse(prompt) {
			if !strings.Contains(prompt, r.Text) || !r.Mention && !strings.HasPrefix(r.Text, "@"+r.Kind) || seen[r.Text] {
				t.Errorf("%+v in %q", r, prompt)
			}
			seen[r.Text] = true
			valued := r.Kind != kindDiff && r.Kind != kindStaged && r.Kind != kindProblems
			if valued != (r.Value != "") || !strings.Contains(strings.ReplaceAll(r.Text, `\"`, `"`), r.Value) || r.First < 0 || r.Last < 0 || r.Kind != kindFile && r.First > 0 {
				t.Errorf("%+v in %q", r, prompt)
			}
		}
	})
}
