package search

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The prefilter does not change the matching lines of the regular expression.
func TestPatternAgreesWithRegexp(t *testing.T) {
	t.Parallel()
	alphabet := rapid.SampledFrom([]string{"a", "b", "K", "k", "s", "S", "\u017f", "\u212a", "é", "É", " ", "_", "\n", "\r\n", "needle", "NEEDLE", "xyz"})
	sources := rapid.SampledFrom([]string{
		"a", "ab", "needle", "(?i)needle", "(?i)k", "(?i)sk", "(?i)a k", "(?i:a)b", "é", "(?i)é", "(?i)aéb", "needle|xyz", "(?i)needle|xyz", "a|b|", "(ab)+", "(ab){2,}", "a?b",
		"^a", "b$", "^$", "a.b", `\s`, `\w+_`, "[ab]k", "x*", "(?i)needle_xyz", "b\\b",
	})
	rapid.Check(t, func(t *rapid.T) {
		source := sources.Draw(t, "pattern")
		text := strings.Join(rapid.SliceOfN(alphabet, 0, 40).Draw(t, "text"), "")
		p, err := compilePattern(source)
		if err != nil {
			t.Fatal(err)
		}
		expr := regexp.MustCompile(unicodeClasses(source)) // in ASCII the same
		var got, want []int
		if _, err := p.scan(strings.NewReader(text), func(line int) { got = append(got, line) }); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(text, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for i, line := range lines {
			if expr.MatchString(strings.TrimSuffix(line, "\r")) {
				want = append(want, i+1)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", source, text, got, want)
		}
	})
}

// A pattern finds the same lines as the regular expression, line by line.
func TestPatternRandom(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"a", "b", "[ab]", "[^a]", ".", "^", "$", `\b`, `\B`, `\w`, `\d`, "(?i)A", "é", "(a|b)", "a*", "b+", "c?", "a{2,3}", "|", `\A`, `\z`, " ", "[a-cé]", `\s`, `\r`, "ab", "q", "@"})
	text := rapid.StringMatching(`([abcA é1q@\r]{0,6}(\r?\n)?){0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "pattern"), "")
		p, err := compilePattern(source)
		if err != nil {
			return
		}
		in := text.Draw(t, "text")
		expr := regexp.MustCompile(unicodeClasses(source)) // in ASCII the same
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
}

// A line longer than any buffer is a single line, found once.
func TestScanLongLine(t *testing.T) {
	t.Parallel()
	text := "needle\n" + strings.Repeat("x", maxSearchLine-20) + "needle" + strings.Repeat("y", maxSearchLine) + "needle\nneedle"
	p, err := compilePattern("needle")
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	binary, err := p.scan(strings.NewReader(text), func(line int) { got = append(got, line) })
	if err != nil || binary || !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("%v, %v, %v", got, binary, err)
	}
}

// literals are known if every match contains at least one.
func TestLiterals(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"needle": "needle", "a.bcd": "bcd", "(foo|barbaz)+x": "foo,barbaz", `\w+AtLeast\(`: "AtLeast(", "x{2,3}y*": "x",
		"(?i)needle": "needle", "(?i)ask|X": "a,x", "(?i)sk": "", "a|b*": "", "[ab]": "", "(abc){0,2}": "", "a|b|c|d|e|f|g|h|i.": "",
	} {
		p, err := compilePattern(source)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, literal := range p.literals {
			got = append(got, string(literal))
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}

func TestUnicodeClasses(t *testing.T) {
	t.Parallel()
	w, d, s := "["+wordClass+"]", "["+digitClass+"]", "["+spaceClass+"]"
	for source, want := range map[string]string{
		`a\w+`:          "a" + w + "+",
		`\d\s`:          d + s,
		`\W`:            "[^" + wordClass + "]",
		`[\w-]`:         "[" + wordClass + "-]",
		`[^]\s]x\d`:     "[^]" + spaceClass + "]x" + d,
		`[]\d]\d`:       "[]" + digitClass + "]" + d,
		`[\D\W]`:        `[\P{Nd}\W]`,
		`[[:alpha:]]\w`: "[[:alpha:]]" + w,
		`\\w\[\w`:       `\\w\[` + w,
		`\Q\w\E\w`:      `\Q\w\E` + w,
		`\Q\w`:          `\Q\w`,
		`\bfoo\b.`:      `\bfoo\b.`,
		`é\`:            `é\`,
	} {
		if got := unicodeClasses(source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}
