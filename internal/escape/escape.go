// Package escape makes all characters of a text visible.
package escape

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// escapable splits a text into long padding, words, and single characters.
var escapable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` {16,}|\n{16,}|\t{16,}|\pL+|(?s:.)`) })

// Line makes all of s visible on one line: line ends become ⏎, tabs ⇥, and hidden, reordering or
// ambiguous characters become their numbers, ⟨U+202E⟩, or for invalid bytes ⟨0xFF⟩. Padding is
// counted, ⟨40 spaces⟩. Two different texts never look the same: the signs used here are themselves
// written by number.
func Line(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) && !strings.Contains(s, strings.Repeat(" ", 16)) {
		return s
	}
	return escapable().ReplaceAllStringFunc(s, func(part string) string {
		switch first := part[0]; {
		case len(part) > 1 && first <= ' ':
			return fmt.Sprintf("⟨%d %s⟩", len(part), map[byte]string{' ': "spaces", '\n': "line ends", '\t': "tabs"}[first])
		case first == '\n':
			return "⏎"
		case first == '\t':
			return "⇥"
		}
		// If a word mixes Latin with similar letters of another script, the latter are written by
		// number.
		mixed := strings.ContainsFunc(part, func(r rune) bool { return r < utf8.RuneSelf }) && strings.ContainsFunc(part, looksLatin)
		return numbered(part, func(r, _ rune) bool { return mixed && looksLatin(r) || hidden(r) })
	})
}

// Text escapes s for output with line ends and tabs, such as the arguments of a call: control
// characters, invisible and reordering characters become their numbers.
func Text(s string) string {
	return numbered(s, func(r, last rune) bool { return r != '\n' && r != '\t' && invisible(r, last) })
}

// numbered writes invalid bytes, and the characters chosen by choose, by their numbers.
func numbered(s string, choose func(r, last rune) bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s
	}
	var b strings.Builder
	last := rune(0)
	for i, r := range s {
		switch _, size := utf8.DecodeRuneInString(s[i:]); {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨0x%02X⟩", s[i])
		case choose(r, last):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// HiddenPart returns why a source hides a part from the reader. If it does not, it returns "".
func HiddenPart(src string) string {
	switch {
	case strings.ContainsFunc(src, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7F }):
		return "contains control characters"
	case !utf8.ValidString(src):
		return "contains bytes that are no text"
	case Text(src) != src:
		return "contains invisible characters"
	}
	return ""
}

// looksLatin reports whether a letter belongs to a script with letters similar to Latin.
func looksLatin(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
}

// disguises are ranges of invisible or misleading characters.
var disguises = [][2]rune{
	{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0x180B, 0x180F}, {0xE0100, unicode.MaxRune}, // marks
	{0xFF00, 0xFFEF}, {0x1D400, 0x1D7FF}, {0x2100, 0x214F}, // full-width, mathematical and letter-like forms
	{'⟨', '⟩'}, {'⏎', '⏎'}, {'⇥', '⇥'}, {utf8.RuneError, utf8.RuneError}, // signs of Line
	{0x115F, 0x1160}, {0x3164, 0x3164}, {0x2800, 0x2800}, // blank letters and patterns
	{0x2024, 0x2025}, {0x2027, 0x2027}, {0x2044, 0x2044}, {0x2215, 0x2216}, {0x29F5, 0x29F5}, {0x29F8, 0x29F8}, // dots and slashes
	{0x037E, 0x037E}, {0xA789, 0xA789}, {0x2236, 0x2236}, {0x01C3, 0x01C3}, // signs similar to ASCII
}

// hidden reports whether a character is invisible or misleading.
func hidden(r rune) bool {
	for _, d := range disguises {
		if r >= d[0] && r <= d[1] {
			return true
		}
	}
	return blank(r) || !unicode.IsPrint(r) || unicode.Is(unicode.Me, r) // control, format, blanks; enclosing marks
}

// invisible reports whether a character, after last, is invisible or reorders text.
func invisible(r, last rune) bool {
	joiner := (r == 0x200C || r == 0x200D) && last >= utf8.RuneSelf // within emoji and joining scripts
	selector := unicode.Is(unicode.Variation_Selector, r) && (last < 0xA0 && !(last >= '0' && last <= '9' || last == '#' || last == '*') || unicode.Is(unicode.Variation_Selector, last))
	return !joiner && (selector || blank(r) || r == 0x2800 || unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Co))
}

// blank reports whether a letter or a mark is never visible, although Unicode counts it as visible.
func blank(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0:
		return true
	}
	return false
}
