package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/textenc/texttest"
)

var encodings = []textenc.Encoding{textenc.UTF8, textenc.UTF16, textenc.UTF32}

// applied replaces a range of a text in the slow and simple way.
func applied(text string, r textenc.Range, with string, enc textenc.Encoding) string {
	from, to := textenc.Offset([]byte(text), r.Start, enc), textenc.Offset([]byte(text), r.End, enc)
	return text[:min(from, to)] + with + text[max(from, to):]
}

// applyEdits applies edits as an editor does, last to first.
func applyEdits(text string, edits []Edit, enc textenc.Encoding) string {
	for _, e := range slices.Backward(edits) {
		text = applied(text, e.Range, e.NewText, enc)
	}
	return text
}

func between(line, character, endLine, endCharacter uint32) textenc.Range {
	return textenc.Range{
		Start: textenc.Position{Line: line, Character: character},
		End:   textenc.Position{Line: endLine, Character: endCharacter},
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		old, next string
		want      []Edit
	}{
		{"same\n", "same\n", nil},
		{"", "a", []Edit{{textenc.Range{}, "a"}}},
		{"a\nb\nc\n", "a\nx\nc\n", []Edit{{between(1, 0, 1, 1), "x"}}},
		{"var foo = 1\n", "var food = 1\n", []Edit{{between(0, 7, 0, 7), "d"}}},
		{"😀é\n", "😀è\n", []Edit{{between(0, 2, 0, 3), "è"}}},
		{"a\r\nb\r\n", "a\nb\r\n", []Edit{{between(0, 1, 1, 0), "\n"}}},
		{"1\n2\n3\n4\n5\n", "0\n2\n3\n4\n6\n", []Edit{
			{between(0, 0, 0, 1), "0"}, {between(4, 0, 4, 1), "6"}}},
		{"a", "a\n", []Edit{{between(0, 1, 0, 1), "\n"}}},
	} {
		if got := Edits([]byte(test.old), []byte(test.next), textenc.UTF16); !slices.Equal(got, test.want) {
			t.Errorf("Edits(%q, %q) = %v, want %v", test.old, test.next, got, test.want)
		}
	}
}

func TestEditsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old, next := texttest.Texts().Draw(t, "old"), texttest.Texts().Draw(t, "new")
		for _, enc := range encodings {
			edits := Edits([]byte(old), []byte(next), enc)
			if got := applyEdits(old, edits, enc); got != next {
				t.Fatalf("%s: %q + %v = %q, want %q", enc, old, edits, got, next)
			}
			for i := 1; i < len(edits); i++ {
				a, b := edits[i-1].End, edits[i].Start
				if a.Line > b.Line || a.Line == b.Line && a.Character > b.Character {
					t.Fatalf("%v overlap", edits)
				}
			}
		}
	})
}

// Many scattered changes in a long text become many small edits, not a large edit.
func TestScatteredEdits(t *testing.T) {
	t.Parallel()
	old, next := scattered(10_000, 100)
	edits := Edits(old, next, textenc.UTF16)
	size := 0
	for _, e := range edits {
		size += len(e.NewText)
	}
	if len(edits) != 100 || size > 1000 {
		t.Errorf("%d edits of %d bytes", len(edits), size)
	}
	if got := applyEdits(string(old), edits, textenc.UTF16); got != string(next) {
		t.Error("they do not make the new text")
	}
}

func scattered(lines, changes int) (old, next []byte) {
	for i := range lines {
		old = fmt.Appendf(old, "line %d of the text\n", i/3) // not all different
		if i%(lines/changes) == 7 {
			next = fmt.Appendf(next, "LINE %d of the text\n", i/3)
		} else {
			next = fmt.Appendf(next, "line %d of the text\n", i/3)
		}
	}
	return old, next
}

// gitApply makes a file of old, lets git apply the diff, and returns the result.
func gitApply(t interface{ Fatalf(string, ...any) }, dir, name string, old []byte, diff string) (string, error) {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if old != nil {
		if err := os.WriteFile(path, old, 0o644); err != nil {
			t.Fatalf("%v", err)
		}
	}
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL="+os.DevNull)
	cmd.Stdin = strings.NewReader(diff)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %s", err, out)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

func TestUnified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	many, manyNext := scattered(500, 20)
	for i, test := range []struct {
		name      string
		old, next string
		created   bool
	}{
		{"plain.txt", "a\nb\nc\n", "a\nx\nc\n", false},
		{"created.txt", "", "a\nb\n", true},
		{"filled.txt", "", "a\n", false},
		{"emptied.txt", "a\n", "", false},
		{"noend.txt", "a\nb", "a\nc", false},
		{"end.txt", "a\nb", "a\nb\n", false},
		{"lostend.txt", "a\nb\n", "a\nb", false},
		{"crlf.txt", "a\r\nb\r\n", "a\nb\r\nc", false},
		{"far.txt", string(many), string(manyNext), false},
		{"near.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\ny\n9\n", false},
		{"with space.txt", "a\n", "b\n", false},
		{"dir/é.txt", "a\n", "b\n", false},
		{"odd\"na\tme\\.txt", "a\n", "b\n", false},
		{"latin.txt", "caf\xe9\n", "caf\xe8\n", false},
	} {
		old := []byte(test.old)
		if test.created {
			old = nil
		}
		diff := Unified(test.name, old, []byte(test.next))
		got, err := gitApply(t, filepath.Join(dir, fmt.Sprint(i)), test.name, old, diff)
		if err != nil || got != test.next {
			t.Errorf("%s: git apply made %q, %v of\n%s", test.name, got, err, diff)
		}
	}
	if got := Unified("a", []byte("x"), []byte("x")); got != "" {
		t.Errorf("equal: %q", got)
	}
	if got := Unified("/abs/a", []byte("x\n"), nil); got != "--- a/abs/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" {
		t.Errorf("gone: %q", got)
	}
	if got := Unified("a b", []byte("x\x00"), []byte("y")); got != "Binary files a/a b and b/a b differ\n" {
		t.Errorf("binary: %q", got)
	}
}

func TestUnifiedAgainstGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		out := []byte{}
		for range random.IntN(40) {
			out = append(out, "abcdef"[random.IntN(6)], '\n')
		}
		if len(out) > 0 && random.IntN(3) == 0 {
			out = out[:len(out)-1]
		}
		return out
	}
	for range 100 {
		old, next := text(), text()
		diff := Unified("f", old, next)
		if diff == "" {
			continue
		}
		if got, err := gitApply(t, dir, "f", old, diff); err != nil || got != string(next) {
			t.Fatalf("%q → %q: got %q, %v\n%s", old, next, got, err, diff)
		}
	}
}

// The comparison is right whatever it costs: also past the point where it settles
// for less than the shortest.
func TestChanges(t *testing.T) {
	t.Parallel()
	check := func(t interface{ Fatalf(string, ...any) }, old, next []byte, cost int) int {
		a, b := splitLines(old), splitLines(next)
		d := newDiffer(a, b)
		if cost > 0 {
			d.maxCost = cost
		}
		d.compare(0, len(d.old), 0, len(d.new))
		compact(d.oldIDs, d.oldGone, d.newIDs, d.newGone)
		compact(d.newIDs, d.newGone, d.oldIDs, d.oldGone)
		var got []byte
		at, size := 0, 0
		for _, c := range d.changes() {
			for ; at < c.OldFrom; at++ {
				got = append(got, a[at].text...)
			}
			for i := c.NewFrom; i < c.NewTo; i++ {
				got = append(got, b[i].text...)
			}
			size += c.OldTo - c.OldFrom + c.NewTo - c.NewFrom
			at = c.OldTo
		}
		for ; at < len(a); at++ {
			got = append(got, a[at].text...)
		}
		if string(got) != string(next) {
			t.Fatalf("%q → %q came out as %q", old, next, got)
		}
		return size
	}
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n"}), 0, 30), func(l []string) []byte { return []byte(strings.Join(l, "")) })
		old, next := side.Draw(t, "old"), side.Draw(t, "new")
		shortest := check(t, old, next, 0)
		if want := len(old)/2 + len(next)/2 - 2*common(old, next); shortest != want {
			t.Fatalf("%d lines changed, %d would do", shortest, want)
		}
		check(t, old, next, rapid.IntRange(1, 4).Draw(t, "cost"))
	})
}

// common is the length of the longest common sequence of two-byte lines.
func common(a, b []byte) int {
	row := make([]int, len(b)/2+1)
	for i := 0; i < len(a); i += 2 {
		diagonal := 0
		for j := 0; j < len(b); j += 2 {
			above := row[j/2+1]
			if a[i] == b[j] {
				row[j/2+1] = diagonal + 1
			} else {
				row[j/2+1] = max(above, row[j/2])
			}
			diagonal = above
		}
	}
	return row[len(b)/2]
}

// The worst case against the best: shuffled lines with all of them on both sides.
func BenchmarkUnified(b *testing.B) {
	old, next := scattered(10_000, 100)
	lines := strings.SplitAfter(string(old), "\n")
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for name, text := range map[string][]byte{"scattered": next, "shuffled": []byte(strings.Join(lines, ""))} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Unified("f", old, text)
			}
		})
	}
}
