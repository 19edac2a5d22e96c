package skills

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// shortest is the length to which descriptions are shortened, in bytes, before names stand alone.
const shortest = 40

// index returns lines "- NAME: DESCRIPTION" within limit bytes. If they do not fit, all descriptions are shortened to
// one length. If that is not enough, the last skills have only names, and then the rest is counted.
func index(all []Skill, limit int) string {
	if len(all) == 0 || limit <= 0 {
		return ""
	}
	longest := 0
	for _, s := range all {
		longest = max(longest, len(s.Description))
	}
	if text := lines(all, longest, len(all), len(all)); len(text) <= limit {
		return text
	}
	fits := func(width int) bool { return len(lines(all, width, len(all), len(all))) <= limit }
	if fits(shortest) {
		low, high := shortest, longest
		for low < high {
			if middle := (low + high + 1) / 2; fits(middle) {
				low = middle
			} else {
				high = middle - 1
			}
		}
		return lines(all, low, len(all), len(all))
	}
	for _, names := range []bool{true, false} { // first fewer descriptions, then fewer names
		low, high := 0, len(all)
		text := func(n int) string {
			if names {
				return lines(all, shortest, n, len(all))
			}
			return lines(all, shortest, 0, n)
		}
		for low < high {
			if middle := (low + high + 1) / 2; len(text(middle)) <= limit {
				low = middle
			} else {
				high = middle - 1
			}
		}
		if t := text(low); len(t) <= limit {
			return t
		}
	}
	return ""
}

// lines writes the first described skills with descriptions of at most width bytes, and those up to named without.
func lines(all []Skill, width, described, named int) string {
	var b strings.Builder
	for i, s := range all[:named] {
		if i < described {
			fmt.Fprintf(&b, "- %s: %s\n", s.Name, cut(s.Description, width))
		} else {
			fmt.Fprintf(&b, "- %s\n", s.Name)
		}
	}
	if rest := len(all) - named; rest > 0 {
		fmt.Fprintf(&b, "and %d more: skill_view with query finds them\n", rest)
	}
	return b.String()
}

// cut shortens a text to limit bytes, at the end of a word if there is one.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	text = text[:max(limit-len("…"), 0)]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	if at := strings.LastIndexByte(text, ' '); at > len(text)*2/3 {
		text = text[:at]
	}
	return strings.TrimRight(text, " ,;:.") + "…"
}
