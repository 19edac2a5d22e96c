package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// checkFuzzy is checkEdit with texts as they are.
func checkFuzzy(t *testing.T, name, before, old, new, after string) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"old_string": old, "new_string": new})
	if err != nil {
		t.Fatal(err)
	}
	checkEdit(t, name, before, strings.Trim(string(args), "{}"), after)
}

func TestPatchAlmost(t *testing.T) {
	t.Parallel()
	check := func(name, before, old, new, after string) { t.Helper(); checkFuzzy(t, name, before, old, new, after) }

	// White space at the ends of lines, and of the text.
	check("blanks at line ends in the file", "a  \nb\t\nc\n", "a\nb\n", "a\nx\n", "a  \nx\nc\n")
	check("blanks at line ends in old", "a\nb\nc\n", "a  \nb \n", "a  \nx\n", "a\nx\nc\n")
	check("blanks stay behind the last line", "a  \n", "a\n", "b\n", "b\n")
	check("no end in the file", "a\nb", "b\n", "x\n", "a\nx")
	check("no end in the file, CRLF", "a\r\nb", "a\nb\n", "a\nx\n", "a\r\nx")
	check("an empty line before", "a\nb\nc\n", "\n\nb\n", "\n\nx\n", "a\nx\nc\n")
	check("empty lines are no way into a word", "abc\n", "\n\nb\n", "x", "error:old_string is not in the file")
	check("deleted, with empty lines around", "a\nb\nc\n", "\n\nb\n\n\n", "", "a\nc\n")

	// White space between words.
	check("white space between", "foo   bar baz\n", "foo bar", "XY", "XY baz\n")
	check("white space that is kept", "int   x = 1;\tint   y;\n", "int x = 1; int y;", "int x = 2; int y;", "int   x = 2;\tint   y;\n")
	check("tabs between", "a\t=\tb // note\n", "a = b // note", "a = c // note", "a\t=\tc // note\n")
	check("not in a string that is new", "foo   bar\n", "foo bar", "print('x y')", "print('x y')\n")
	check("white space between, lines", "if a  ==  b {\r\n\tc  (d)\r\n}\r\n", "if a == b {\n\tc (d)\n}", "if a == b {\n\te (d)\n}", "if a  ==  b {\r\n\te  (d)\r\n}\r\n")
	check("two places", "a  b\na   b\n", "a b", "c", "error:2 times (at lines 1, 2, although white space differs)")

	// Indentation.
	check("at 0 in the edit, at 8 in the file", "class A:\n        def f():\n            pass\n", "def f():\n    pass", "def f():\n    x = 1\n    return x", "class A:\n        def f():\n            x = 1\n            return x\n")
	check("spaces in the edit, tabs in the file", "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n", "    if a {\n        b()\n    }", "    if a {\n        for {\n            c()\n        }\n    }", "func f() {\n\tif a {\n\t\tfor {\n\t\t\tc()\n\t\t}\n\t}\n}\n")
	check("tabs in the edit, spaces in the file", "f:\n    a\n      b\n", "\ta\n\t\tb", "\ta\n\t\tc\n\t\t\td", "f:\n    a\n      c\n        d\n")
	check("two for four", "a:\n    b:\n        c\n", "a:\n  b:\n    c", "a:\n  b:\n    c\n    d:\n      e", "a:\n    b:\n        c\n        d:\n            e\n")
	check("less than anything before", "    a\n        b\n", "        a\n            b", "        a\n    c", "    a\nc\n")
	check("lines that stay, stay", "  a  \n\tb   c\n", "    a\n    x\n    b c", "    a\n    y\n    b c", "error:old_string is not in the file")
	check("lines that stay, stay as they are", "  a  x \n  b\n  c   d\n", "a x\nb\nc d", "a x\ne\nc d", "  a  x \n  e\n  c   d\n")
	check("flattened", "def f():\n    if a:\n        b\n", "def f():\nif a:\nb", "def f():\nif a:\nc", "error:old_string is not in the file")
	check("flattened, and nothing to indent", "def f():\n    if a:\n        b\n", "def f():\nif a:\nb", "def f():\nif a:", "def f():\n    if a:\n")
	check("an empty line in between", "  a\n\n  b\n", "a\n\nb", "a\n\nc", "  a\n\n  c\n")
	check("deleted", "x\n    a\n    b\ny\n", "a\nb\n", "", "x\n    a\n    b\ny\n"[:2]+"y\n")
	check("indentation, two places", "  a\n  b\n\n    a\n    b\n", "\ta\n\tb", "\tc", "error:2 times (at lines 1, 4, although the indentation differs)")
	check("CRLF and indentation", "  a\r\n  b\r\n", "a\nb", "a\nc\nd", "  a\r\n  c\r\n  d\r\n")

	// Escapes.
	check("quotes", "say(\"hi\")\n", `say(\"hi\")`, `say(\"ho\", 'x\n')`, "say(\"ho\", 'x\\n')\n")
	check("line ends", "a\n\tb\nc\n", `a\n\tb`, `a\n\td`, "a\n\td\nc\n")
	check("doubled", "p(\"a\\n\")\nq\n", `p(\"a\\n\")\nq`, `p(\"b\\n\")\nr`, "p(\"b\\n\")\nr\n")
	check("CRLF in escapes, and in the file", "a\r\nb\r\nc\r\n", `a\r\nb`, `x\r\ny`, "x\r\ny\r\nc\r\n")
	check("CRLF in escapes, LF in the file", "a\nb\nc\n", `a\r\nb`, `x\r\ny`, "x\ny\nc\n")
	check("LF in escapes, CRLF in the file", "a\r\nb\r\nc\r\n", `a\nb`, `x\ny\nz`, "x\r\ny\r\nz\r\nc\r\n")
	check("doubtful", "say(\"hi\")\n", `say(\"hi\")`, `say(\"a\\b\")`, "error:old_string is not in the file")
	check("a real line end and one that was meant", "a\nb\n", `a\nb`, "x\n'\\n'", "error:old_string is not in the file")

	// Characters that look alike.
	check("dash and quotes", "a — b “c”\n", `a -- b "c"`, `a -- b "d"`, "a — b “d”\n")
	check("short dash", "a — b – c\n", `a - b - c`, `a - b - d`, "a — b – d\n")
	check("untouched among touched", "“x” — “y” — z\n", `"x" -- "y" -- z`, `"x" -- "w" -- z`, "“x” — “w” — z\n")
	check("no quotes for code", "say “hi”\n", `say "hi"`, `print("x")`, "print(\"x\")\n")
	check("no-break space", "10\u00a0km, and 5\u202fmi\n", "10 km, and 5 mi", "10 km, and 6 mi", "10\u00a0km, and 6\u202fmi\n")
	check("zero width", "a\u200bb c\n", "ab c", "ab d", "a\u200bb d\n")
	check("accents taken apart", "cafe\u0301 au lait\n", "café au lait", "café noir", "cafe\u0301 noir\n")
	check("dots", "wait… what\n", "wait... what", "wait... who", "wait… who\n")
	check("looks and indentation", "    x = “a”\n    y\n", "x = \"a\"\ny", "x = \"a\"\nz", "    x = “a”\n    z\n")
	check("looks, two places", "“a”\n”a“\n", `"a"`, "b", "error:2 times (at lines 1, 2, although look-alike")
	check("Unicode that is written stays", "x\n", "x", "“—”", "“—”\n")

	// A block by its ends.
	block := "func f() {\n\ta := load(path, 1)\n\tb := parse(a)\n\tc := check(b)\n\treturn c\n}\n"
	check("remembered wrongly, and kept", block, "func f() {\n\ta := load(path, 2)\n\tb := parse(a)\n\tc := check(b)\n\treturn c\n}", "func f() {\n\ta := load(path, 2)\n\tb := parse(a)\n\tc := verify(b)\n\treturn c\n}", strings.Replace(block, "check", "verify", 1))
	check("remembered wrongly, and changed", block, "func f() {\n\ta := load(path, 2)\n\tb := parse(a)\n\tc := check(b)\n\treturn c\n}", "func f() {\n\ta := load(file, 2)\n\tb := parse(a)\n\tc := check(b)\n\treturn c\n}", "error:old_string is not in the file")
	check("too different", block, "func f() {\n\tone()\n\ttwo()\n\tc := check(b)\n\treturn c\n}", "func f() {\n\tone()\n\ttwo()\n\tc := verify(b)\n\treturn c\n}", "error:old_string is not in the file")

	// Nothing was done, and the error reports it.
	check("as it should be already", "a   b\n", "a b", "a   b", "a   b\n")
	check("already, among others", "return nil, err\nreturn nil, err\n", "return nil", "return nil, err", "error:2 times")
	check("a common line proves nothing", "return nil\nreturn nil\n", "x = compute()", "return nil", "error:old_string is not in the file")
	check("spaces only", "a\u00a0b\n", "\u00a0", "x", "error:only white space")
}

// New lines are indented by the same difference as the text beside them.
func TestPatchIndents(t *testing.T) {
	t.Parallel()
	in := func(n int, lines ...string) string { // lines, each behind n spaces
		return strings.Repeat(" ", n) + strings.Join(lines, "\n"+strings.Repeat(" ", n))
	}
	nested := []string{"if b:", "    a = 2", "    c"}
	for _, c := range []struct{ name, file, old, new, want string }{
		{"8 in the file, 4 in the edit", in(8, "a = 1", "b"), in(4, "a = 1", "b"), in(4, nested...), in(8, nested...)},
		{"12 and 4", in(12, "a = 1", "b"), in(4, "a = 1", "b"), in(4, nested...), in(12, nested...)},
		{"12 and 8", in(12, "a = 1", "b"), in(8, "a = 1", "b"), in(8, nested...), in(12, nested...)},
		{"4 and 8", in(4, "a = 1", "b"), in(8, "a = 1", "b"), in(8, nested...), in(4, nested...)},
		{"8 and 0", in(8, "a = 1", "b"), "a = 1\nb", "a = 2\nb", in(8, "a = 2", "b")},
		{"8 and 0, nested", in(8, "a = 1", "b"), "a = 1\nb", in(0, nested...), in(8, nested...)},
		{"6 and 2, by 2", in(6, "a = 1", "b"), in(2, "a = 1", "b"), in(2, "if b:", "  a"), in(6, "if b:", "  a")},
		{"5 and 3, by 3", in(5, "a = 1", "b"), in(3, "a = 1", "b"), in(3, "if b:", "   a"), in(5, "if b:", "   a")},
		{"aligned by one", in(8, "/**", " * a", " */"), in(4, "/**", " * a", " */"), in(4, "/**", " * a", " * b", " */"), in(8, "/**", " * a", " * b", " */")},
		{"two levels in", in(8, "a = 1", "b"), in(4, "a = 1", "b"), in(4, "for b:", "    if b:", "        a"), in(8, "for b:", "    if b:", "        a")},
		{"a level out", in(8, "a = 1", "b"), in(4, "a = 1", "b"), in(4, "a = 1") + "\nelse:", in(8, "a = 1") + "\n" + in(4, "else:")},
		{"further out than the file is", in(4, "a = 1", "b"), in(8, "a = 1", "b"), in(8, "a = 1") + "\nelse:", "error:old_string is not in the file"},
		{"levels that old shows", in(4, "a:", "        b"), "a:\n    b", "a:\n    c:\n        d", in(4, "a:", "        c:", "                d")},

		{"4 for a tab", "\t\ta = 1\n\t\tb", in(4, "a = 1", "b"), in(4, nested...), "\t\tif b:\n\t\t\ta = 2\n\t\t\tc"},
		{"8 for two tabs", "\t\ta = 1\n\t\tb", in(8, "a = 1", "b"), in(8, nested...), "\t\tif b:\n\t\t\ta = 2\n\t\t\tc"},
		{"2 for a tab", "\t\ta = 1\n\t\tb", in(2, "a = 1", "b"), in(2, "if b:", "  a", "  for:", "    c"), "\t\tif b:\n\t\t\ta\n\t\t\tfor:\n\t\t\t\tc"},
		{"0 for tabs", "\t\ta = 1\n\t\tb", "a = 1\nb", in(0, nested...), "\t\tif b:\n\t\t\ta = 2\n\t\t\tc"},
		{"4 for nothing in a file of tabs", "x:\n\ty\na = 1\nb", in(4, "a = 1", "b"), in(4, nested...), "x:\n\ty\nif b:\n\ta = 2\n\tc"},
		{"a level out of tabs", "\t\ta = 1\n\t\tb", in(8, "a = 1", "b"), in(8, "a = 1") + "\n    else:", "\t\ta = 1\n\telse:"},
		{"6 behind tabs that stand for 4", "\t\ta(1,\n\t\tb)", in(4, "a(1,", "b)"), in(4, "if b:", "    a(1,", "      b)"), "\t\tif b:\n\t\t\ta(1,\n\t\t\t  b)"},
		{"a tab for 4", "x:\n" + in(4, "y:", "    a = 1", "    b"), "\ta = 1\n\tb", "\tif b:\n\t\ta = 2", "x:\n" + in(4, "y:", "    if b:", "        a = 2")},
		{"a tab for 2", "x:\n" + in(2, "y:", "  a = 1", "  b"), "\ta = 1\n\tb", "\tif b:\n\t\ta = 2", "x:\n" + in(2, "y:", "  if b:", "    a = 2")},
		{"a tab for 8 that are two levels", in(4, "y:", "    a = 1", "    b"), "\ta = 1\n\tb", "\tif b:\n\t\ta = 2", in(4, "y:", "    if b:", "        a = 2")},
		{"a tab, and the file tells nothing", in(8, "a = 1", "b"), "\ta = 1\n\tb", "\tif b:\n\t\ta = 2", in(8, "if b:", "    a = 2")},
		{"a tab more for a tab more", "\t\ta = 1\n\t\tb", "\ta = 1\n\tb", "\tif b:\n\t\ta = 2", "\t\tif b:\n\t\t\ta = 2"},
		{"tabs and blanks in the file", "\t  a = 1\n\t  b", in(4, "a = 1", "b"), in(4, nested...), "\t  if b:\n\t  \ta = 2\n\t  \tc"},
		{"CRLF", "x\r\n        a = 1\r\n        b\r\n", in(4, "a = 1", "b"), in(4, nested...), "x\r\n        if b:\r\n            a = 2\r\n            c\r\n"},
	} {
		checkFuzzy(t, c.name, c.file, c.old, c.new, c.want)
	}
}

// An edit changes only its region, with any other content and in any charset.
func TestPatchTouchesOnlyTheRegion(t *testing.T) {
	t.Parallel()
	line := rapid.StringMatching(`[ \t]{0,4}[a-e(){}=“”—é ]{0,12}[ \t]{0,2}`)
	end := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r\n", "\n\r"})
	text := rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			b.WriteString(line.Draw(t, "line") + end.Draw(t, "end"))
		}
		return b.String()
	})
	spoil := map[string]func(string) string{
		"not":         func(s string) string { return s },
		"ends":        func(s string) string { return strings.ReplaceAll(s, "\n", " \n") },
		"blanks":      func(s string) string { return strings.ReplaceAll(s, " k ", "   k\t") },
		"indentation": func(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") },
		"looks":       func(s string) string { return strings.NewReplacer("“", `"`, "”", `"`, "—", "--").Replace(s) },
	}
	rapid.Check(t, func(t *rapid.T) {
		head, tail := text.Draw(t, "head"), text.Draw(t, "tail")
		mid := "    k1 k “q” = k2\n    k3 — k4\n" // k is nowhere else
		if rapid.Bool().Draw(t, "CRLF") {
			mid = strings.ReplaceAll(mid, "\n", "\r\n")
		}
		how := rapid.SampledFrom([]string{"not", "ends", "blanks", "indentation", "looks"}).Draw(t, "how")
		seen := strings.TrimSuffix(strings.ReplaceAll(mid, "\r\n", "\n"), "\n")
		in := replacement{old: spoil[how](seen), new: spoil[how](strings.Replace(seen, "k3", "new", 1))}
		if strings.HasSuffix(head, "\r") {
			head += "\n"
		}
		before := head + mid + tail
		got, err := replace(t.Context(), before, in)
		if err != nil {
			t.Fatalf("%s: %q in %q: %v", how, in.old, before, err)
		}
		if want := head + strings.Replace(mid, "k3", "new", 1) + tail; got.text != want {
			t.Fatalf("%s: got %q, want %q", how, got.text, want)
		}
	})
}

// For every request, text outside the matched places stays, and the new text is new under
// the fold.
func FuzzReplaceAlmost(f *testing.F) {
	for _, seed := range [][3]string{
		{"a  b\n\tc\n", "a b\n    c", "a b\n    d"}, {"“x” — y", `"x" -- y`, `"x" -- z`}, {"a\r\n  b\r\n", "a\nb\n", "a\n\n"},
		{`a"b`, `a\"b`, `a\"c`}, {"x\n y \n z", "\nx\ny\nz\n", "x"}, {"a\nb\nc\nd\n", "a\nB\nc\nd", "a\nB\nd"},
	} {
		f.Add(seed[0], seed[1], seed[2], false)
	}
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		if strings.TrimSpace(old) == "" || old == new || !utf8.ValidString(old) {
			return
		}
		found, err := find(t.Context(), text, replacement{old: old, new: new, all: all})
		if err != nil || len(found.spans) == 0 {
			return
		}
		got := found.apply()
		last := 0
		rest := got
		for _, s := range found.spans {
			if s.start < last || s.end > len(text) || s.start > s.end {
				t.Fatalf("places %v in %d bytes", found.spans, len(text))
			}
			if !strings.HasPrefix(rest, text[last:s.start]) {
				t.Fatalf("%q in %q became %q: what is before %v is another", old, text, got, s)
			}
			rest = rest[s.start-last:]
			piece := found.at(s)
			if !strings.HasPrefix(rest, piece) {
				t.Fatalf("%q is not made of its pieces", got)
			}
			rest, last = rest[len(piece):], s.end
		}
		if rest != text[last:] {
			t.Fatalf("%q in %q became %q: the end is another", old, text, got)
		}
		if utf8.ValidString(text) && utf8.ValidString(new) && !utf8.ValidString(got) {
			t.Fatalf("%q in %q by %q cut a character: %q", old, text, new, got)
		}
	})
}

func BenchmarkSeekSteps(b *testing.B) {
	text := strings.Repeat("    some line of text (of some length) that is like others\n", 5_000) + "  the   one “place”\n    to find\n"
	for name, old := range map[string]string{
		"exact": "the   one “place”\n    to", "blanks": "the one “place”\n    to find", "indentation": "the one “place”\n  to find", "looks": `the   one "place"`, "nothing": "nowhere to be\nfound",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := find(b.Context(), text, replacement{old: old, new: "x"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A long old_string that is nearly there is answered soon, whatever the file repeats,
// and at once when the call is canceled. It runs alone: a search over all of a file for
// each of its lines takes minutes even so, and one that is bounded a second.
func TestPatchThatCostsMuch(t *testing.T) {
	testneed.Long(t)
	var unlike, blocks strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&unlike, "    value_%06d = compute(%d, \"some text\")\n", i, i*7)
	}
	for i := 0; blocks.Len() < 600<<10; i++ {
		blocks.WriteString("{\n")
		for j := range 40 {
			fmt.Fprintf(&blocks, "  step %d of %d\n", j, i%50)
		}
	}
	for name, c := range map[string]struct{ text, old string }{
		"one line differs":        {unlike.String(), strings.Replace(unlike.String()[80_000:250_000], "compute(", "compare(", 1)},
		"a letter in each line":   {unlike.String(), strings.ReplaceAll(unlike.String()[80_000:250_000], "some text", "some test")},
		"all lines are the same":  {strings.Repeat("x = 1\n", 100_000), strings.Repeat("  x = 1\n", 21_000) + "y\n"},
		"and indented":            {strings.Repeat("x = 1\n", 100_000), strings.Repeat("  x = 1\n", 21_000)},
		"one letter":              {strings.Repeat("a", 600<<10), strings.Repeat("a", 170<<10) + "b"},
		"one letter, many times":  {strings.Repeat("a", 600<<10), strings.Repeat("a", 170<<10)},
		"many blocks by the ends": {blocks.String(), strings.Replace(blocks.String()[:170_000], "step 3 of", "stop 3 of", 1) + "{"},
		"lines of two kinds":      {strings.Repeat("    return compute(a)\n    return compute(b)\n", 14_000), strings.Repeat("    return compute(a)\n    return comqute(c)\n", 4_000)},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			_, err := replace(t.Context(), c.text, replacement{old: c.old, new: "z\n"})
			took := time.Since(begun)
			if t.Logf("%v: %.100v", took, err); err == nil || took > time.Minute {
				t.Errorf("%v after %v", err, took)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := replace(ctx, unlike.String(), replacement{old: "nowhere", new: "z"}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
