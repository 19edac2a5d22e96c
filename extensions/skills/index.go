package skills

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// shortest is the length to which descriptions are shortened, in bytes, before names stand alone.
const shortest = 40

// index returns lines "- NAME: DESCRIPTION" within limit bytes. If they do not fit, it shortens all
// descriptions to the same length, then drops descriptions, and finally counts the rest.
func index(all []*Skill, limit int) string {
	if len(all) == 0 || limit <= 0 {
		return ""
	}
	longest := 0
	for _, s := range all {
		longest = max(longest, len(s.Description))
	}
	width := func(n int) layout { return layout{n, len(all), len(all)} }
	described := func(n int) layout { return layout{shortest, n, len(all)} }
	named := func(n int) layout { return layout{shortest, 0, n} }
	fits := func(l layout) bool { return l.size(all) <= limit }
	switch {
	case fits(width(longest)):
		return width(longest).text(all)
	case fits(width(shortest)):
		return width(last(shortest, longest, func(n int) bool { return fits(width(n)) })).text(all)
	case fits(described(0)):
		return described(last(0, len(all), func(n int) bool { return fits(described(n)) })).text(all)
	case fits(named(0)):
		return named(last(0, len(all), func(n int) bool { return fits(named(n)) })).text(all)
	}
	return ""
}

// last returns the last number from low to high for which ok returns true. ok must be true for low,
// and stay false once it is false.
func last(low, high int, ok func(int) bool) int {
	for low < high {
		if middle := (low + high + 1) / 2; ok(middle) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// layout is a form of the index. Skills up to described have descriptions of at most width bytes,
// skills up to named only names, and the rest is counted.
type layout struct{ width, described, named int }

// each calls write with the parts of the text. It does not build the whole text, because [index]
// tries many layouts.
func (l layout) each(all []*Skill, write func(part string)) {
	for i, s := range all[:l.named] {
		write("- ")
		write(s.Name)
		if i < l.described {
			text, whole := shortened(s.Description, l.width)
			write(": ")
			write(text)
			if !whole {
				write("…")
			}
		}
		write("\n")
	}
	if rest := len(all) - l.named; rest > 0 {
		write(fmt.Sprintf("and %d more: skill_view with query finds them\n", rest))
	}
}

func (l layout) size(all []*Skill) (bytes int) {
	l.each(all, func(part string) { bytes += len(part) })
	return bytes
}

func (l layout) text(all []*Skill) string {
	var b strings.Builder
	b.Grow(l.size(all))
	l.each(all, func(part string) { b.WriteString(part) })
	return b.String()
}

// cut shortens a text to limit bytes, if possible at the end of a word.
func cut(text string, limit int) string {
	if text, whole := shortened(text, limit); !whole {
		return text + "…"
	}
	return text
}

// shortened returns the part of a text before the ellipsis of [cut]. If the text fits, whole is
// true.
func shortened(text string, limit int) (part string, whole bool) {
	if len(text) <= limit {
		return text, true
	}
	text = text[:max(limit-len("…"), 0)]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	if at := strings.LastIndexByte(text, ' '); at > len(text)*2/3 {
		text = text[:at]
	}
	return strings.TrimRight(text, " ,;:."), false
}
