package spelling

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// most is the largest number of names in a suggestion.
const most = 3

// Nearest returns the first name of [Near]. If there is none, it returns "".
func Nearest(name string, names []string) string {
	if near := Near(name, names); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Near returns at most three names whose misspelling name may be, likeliest first. A name of
// three or four characters may have a single mistake, a longer name two, or as many as a third of
// its characters. The case does not matter. Two swapped neighbors count as a single mistake, and
// so does the missing end of a name.
func Near(name string, names []string) []string {
	return ranked(name, names, func(a, b string) (int, bool) {
		d, near := mistakes(a, b)
		return d, near
	})
}

// Likely returns at most three names for which name may stand, likeliest first: the names of
// [Near], then names containing name or contained in it, then names with a common word.
func Likely(name string, names []string) []string {
	return ranked(name, names, func(a, b string) (int, bool) {
		if d, near := mistakes(a, b); near {
			return d, true
		}
		if len(b) >= 3 && strings.Contains(a, b) || len(a) >= 3 && strings.Contains(b, a) {
			return 1000 + max(len(a), len(b)) - min(len(a), len(b)), true
		}
		shared := sharedWords(a, b)
		return 2000 - shared, shared > 0
	})
}

// ranked returns the names with the lowest scores. Of equal scores, a name with the same first
// letter comes first, then a name of the same length.
func ranked(name string, names []string, score func(a, b string) (int, bool)) []string {
	type scored struct {
		name  string
		score int
	}
	var near []scored
	a := strings.ToLower(name)
	for _, candidate := range names {
		b := strings.ToLower(candidate)
		n, ok := score(a, b)
		if !ok {
			continue
		}
		n *= 4
		if first, _ := utf8.DecodeRuneInString(a); !strings.HasPrefix(b, string(first)) {
			n += 2
		}
		if utf8.RuneCountInString(a) != utf8.RuneCountInString(b) {
			n++
		}
		near = append(near, scored{candidate, n})
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.score - b.score })
	var out []string
	for _, n := range near {
		if len(out) < most && !slices.Contains(out, n.name) {
			out = append(out, n.name)
		}
	}
	return out
}

// mistakes returns the number of mistakes between a and b, and whether a misspelled b may have so
// many.
func mistakes(a, b string) (int, bool) {
	x, y := []rune(a), []rune(b)
	limit := max(min(2, (len(x)-1)/2), max(len(x), len(y))/3)
	if len(x) >= 2 && strings.HasPrefix(b, a) {
		return min(1, len(y)-len(x)), true
	}
	if difference := len(x) - len(y); max(difference, -difference) > limit {
		return 0, false
	}
	d := distance(x, y, true)
	return d, d <= limit
}

// sharedWords counts the words of three letters or more in both names: file_read and read_file
// share two.
func sharedWords(a, b string) (n int) {
	ends := func(r rune) bool { return r == '_' || r == '-' }
	words := strings.FieldsFunc(b, ends)
	for w := range strings.FieldsFuncSeq(a, ends) {
		if len(w) >= 3 && slices.Contains(words, w) {
			n++
		}
	}
	return n
}
