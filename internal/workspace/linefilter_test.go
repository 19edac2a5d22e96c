package workspace

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A pattern finds the lines that the regular expression finds, line by line.
func TestLineFilterRandom(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"a", "b", "[ab]", "[^a]", ".", "^", "$", `\b`, `\B`, `\w`, `\d`, "(?i)A", "é", "(a|b)", "a*", "b+", "c?", "a{2,3}", "|", `\A`, `\z`, " ", "[a-cé]", `\s`, `\r`, "ab", "q", "@"})
	text := rapid.StringMatching(`([abcA é1q@\r]{0,6}(\r?\n)?){0,6}`)
	filters := 0
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "pattern"), "")
		p, err := compilePattern(source)
		if err != nil {
			return
		}
		if p.filter != nil {
			filters++
		}
		in := text.Draw(t, "text")
		expr := regexp.MustCompile(widened(source)) // in ASCII the same
		var want, got []int
		at := 0
		for line := range strings.Lines(in) {
			if expr.MatchString(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")) {
				want = append(want, at)
			}
			at += len(line)
		}
		p.matches([]byte(in), func(start int) { got = append(got, start) })
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: lines at %v, want %v", source, in, got, want)
		}
	})
	if filters == 0 {
		t.Error("no pattern had a filter")
	}
}

func TestLineFilterLimits(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		`[0-9a-f]{12}`: true, `\w+\s*=\s*\d+`: true, `^\s+$`: true, `.*`: false, `(a|b).{12}c[xy]`: false, `[a-z]{1000}`: false, `\b\w{30,60}\b`: true,
	} {
		p, err := compilePattern(source)
		if err != nil || (p.filter != nil) != want {
			t.Errorf("%s has a filter: %v, %v", source, err == nil && p.filter != nil, err)
		}
	}
}
