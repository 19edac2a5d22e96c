package spelling

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"größe", "grösse", 2}, {"\xff", "a", 1}, {"ab", "ba", 2}, {"file_path", "path", 5}} {
		if got := Distance(tc.a, tc.b); got != tc.want {
			t.Errorf("%q, %q: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestDistanceIsTheLeast compares the distance with that of the definition.
func TestDistanceIsTheLeast(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abé")), 0, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := Distance(a, b), defined([]rune(a), []rune(b)); got != want {
			t.Errorf("%q, %q: %d, want %d", a, b, got, want)
		}
		if prefix := strings.Repeat("x", 3); Distance(prefix+a, prefix+b) != Distance(b, a) {
			t.Errorf("%q, %q: a common beginning or the order changes the distance", a, b)
		}
	})
}

func defined(a, b []rune) int {
	switch {
	case len(a) == 0:
		return len(b)
	case len(b) == 0:
		return len(a)
	case a[0] == b[0]:
		return defined(a[1:], b[1:])
	}
	return 1 + min(defined(a[1:], b), defined(a, b[1:]), defined(a[1:], b[1:]))
}
