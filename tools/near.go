package tools

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/spelling"
)

// Nearest returns at most three names spelled like name, nearest first.
func Nearest(name string, names []string) []string { return nearest(name, names) }

// nearest returns at most three names that look like name, likeliest first.
func nearest(name string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	var near []scored
	for _, candidate := range names {
		a, b := strings.ToLower(name), strings.ToLower(candidate)
		d := spelling.Distance(a, b)
		switch {
		case d <= max(len(a), len(b))/3:
		case len(b) >= 3 && strings.Contains(a, b), len(a) >= 3 && strings.Contains(b, a):
			d += 10 // file_path for path: likely, but less than a slip of the finger
		case sharedWords(a, b) > 0:
			d = 20 - sharedWords(a, b)
		default:
			continue
		}
		near = append(near, scored{candidate, d})
	}
	slices.SortStableFunc(near, func(a, b scored) int { return a.score - b.score })
	var out []string
	for _, n := range near[:min(len(near), 3)] {
		out = append(out, n.name)
	}
	return out
}

// sharedWords counts the words of three letters or more that occur in both a and b: file_read and
// read_file share two.
func sharedWords(a, b string) (n int) {
	words := strings.Split(b, "_")
	for w := range strings.SplitSeq(a, "_") {
		if len(w) >= 3 && slices.Contains(words, w) {
			n++
		}
	}
	return n
}

// quoted lists names as "a", "b" or "c".
func quoted(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(`"` + name + `"`)
	}
	return b.String()
}
