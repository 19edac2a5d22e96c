package frontmatter

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"
)

// TestSimple compares fields read with and without the parser.
func TestSimple(t *testing.T) {
	t.Parallel()
	parts := []string{
		"name: a", "name: b", "description: Does it, well [x]", "description: x: y", "d: |", "d: >-", "  indented", "  k: v", "    z: w", "  l:", "", "- x", "tags: [a, b c]", "tags:",
		"tags: [a,", "b: c]", "m: {h: {t: [a, {x: y}]}, i: j}", "m: {h:i}", "m: {a, b: c}", "t: [a [b], c]", "t: [[a], b]", "t: []", "t: [a,, b]", "t: [a, ]", "t: [a: b, c]", "# c", "x: true", "x: no", `q: "a`,
		`r: z"`, `q: "a, b: c"`, `q: "a\b"`, `q: "a" b "c"`, `t: ["a, b", c]`, `t: ["a", true]`, "'q': 1", "n: 12", "e: ''", "t: text #x", "   ", "\ttab", "u: @x", "...", "z: - a", "k : v", "t: a\tb", "t: a ",
		"t: {a: b}}", "t: [a]]", "t: [a] [b]", "t: {a: b, a: c}", "t: {true: b}", "null: a", "t: [null, a]", "t: a:b", "t: [a:b]", "t: {a: b:c}", "t: [a #b]", `t: " a "`, `t: ""`,
	}
	random := rand.New(rand.NewSource(3))
	compared := 0
	for range 60_000 {
		var lines []string
		for range 1 + random.Intn(6) {
			lines = append(lines, parts[random.Intn(len(parts))])
		}
		head := strings.Join(lines, "\n") + "\n"
		got, ok := simple(head)
		if !ok || len(got) == 0 {
			continue
		}
		compared++
		want := Fields{}
		if err := decode(head, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v, want %#v, %v", head, got, want, err)
		}
	}
	if compared < 1000 {
		t.Errorf("only %d were compared", compared)
	}
}
