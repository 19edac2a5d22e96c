package policy

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRun is how many blanks or line ends in a row are shown as they are.
const maxRun = 15

// Escape writes s so that the user sees all of it, on one line: line ends become
// ⏎, tabs ⇥, and characters that a screen would hide, reorder or show as others
// become their numbers, ⟨U+202E⟩, or for bytes that are no text ⟨0xFF⟩. Padding is
// counted, ⟨40 spaces⟩. Two different texts never look the same: the signs used
// here are themselves written by number.
func Escape(s string) string {
	if plainText(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if n := run(s[i:], r); n > maxRun {
			fmt.Fprintf(&b, "⟨%d %s⟩", n, map[rune]string{' ': "spaces", '\n': "line ends", '\t': "tabs"}[r])
			i += n
			continue
		}
		if unicode.IsLetter(r) {
			n := len(s[i:]) - len(strings.TrimLeftFunc(s[i:], unicode.IsLetter))
			escapeWord(&b, s[i:i+n])
			i += n
			continue
		}
		escapeRune(&b, r, s[i:i+size])
		i += size
	}
	return b.String()
}

func plainText(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return !strings.Contains(s, strings.Repeat(" ", maxRun+1))
}

// run counts how often a blank r stands at the start of s in a row.
func run(s string, r rune) int {
	if r != ' ' && r != '\n' && r != '\t' {
		return 0
	}
	return len(s) - len(strings.TrimLeft(s, string(r)))
}

// escapeWord writes letters; in a word that mixes Latin with letters of a script
// that looks like it, those are written by number.
func escapeWord(b *strings.Builder, word string) {
	mixed := strings.ContainsFunc(word, func(r rune) bool { return r < utf8.RuneSelf }) && strings.ContainsFunc(word, alike)
	for _, r := range word {
		if mixed && alike(r) || hidden(r) {
			fmt.Fprintf(b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
}

func alike(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
}

func escapeRune(b *strings.Builder, r rune, raw string) {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		fmt.Fprintf(b, "⟨0x%02X⟩", raw[0])
	case r == '\n':
		b.WriteString("⏎")
	case r == '\t':
		b.WriteString("⇥")
	case hidden(r):
		fmt.Fprintf(b, "⟨U+%04X⟩", r)
	default:
		b.WriteRune(r)
	}
}

// hidden tells whether a character is not seen, or seen as another.
func hidden(r rune) bool {
	switch {
	case r >= ' ' && r <= '~':
		return false
	case !unicode.IsPrint(r), unicode.Is(unicode.Me, r):
		return true // control, format, blanks; marks that are drawn over others
	case r >= 0x300 && r <= 0x36F, r >= 0x1AB0 && r <= 0x1AFF, r >= 0x1DC0 && r <= 0x1DFF, r >= 0x20D0 && r <= 0x20FF,
		r >= 0xFE00 && r <= 0xFE0F, r >= 0xFE20 && r <= 0xFE2F, r >= 0x180B && r <= 0x180F, r >= 0xE0100:
		return true
	case r >= 0xFF00 && r <= 0xFFEF, r >= 0x1D400 && r <= 0x1D7FF, r >= 0x2100 && r <= 0x214F:
		return true // full-width, mathematical and letter-like forms
	case r == '⟨', r == '⟩', r == '⏎', r == '⇥', r == utf8.RuneError:
		return true
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0x2800:
		return true // letters and patterns that are blank
	case r == 0x2024, r == 0x2025, r == 0x2027, r == 0x2044, r == 0x2215, r == 0x29F8, r == 0x2216, r == 0x29F5, r == 0x037E, r == 0xA789, r == 0x2236, r == 0x01C3:
		return true // dots, slashes, and signs that pass for ASCII
	}
	return false
}

// disguised returns why a source hides a part from the reader. If it does not, it returns "".
func disguised(src string) string {
	ascii := true
	for i := 0; i < len(src); i++ {
		c := src[i]
		if c >= utf8.RuneSelf {
			ascii = false
		} else if c < ' ' && c != '\n' && c != '\t' || c == 0x7F {
			return "contains control characters"
		}
	}
	if ascii {
		return ""
	}
	if !utf8.ValidString(src) {
		return "contains bytes that are no text"
	}
	last := rune(0)
	for _, r := range src {
		if invisible(r, last) && r != '\n' && r != '\t' {
			return "contains invisible characters"
		}
		last = r
	}
	return ""
}

// Shown writes s for a place that keeps line ends and tabs, such as the arguments of a
// call: control characters, invisible ones and those that reorder text become their numbers.
func Shown(s string) string {
	if plainLines(s) {
		return s
	}
	var b strings.Builder
	last := rune(0)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨0x%02X⟩", s[i])
		case r != '\n' && r != '\t' && invisible(r, last):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
		i, last = i+size, r
	}
	return b.String()
}

func plainLines(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < ' ' && s[i] != '\n' && s[i] != '\t') || s[i] > '~' {
			return false
		}
	}
	return true
}

// invisible tells whether a character behind another is not seen, or reorders text.
func invisible(r, last rune) bool {
	joiner := (r == 0x200C || r == 0x200D) && last >= utf8.RuneSelf // within emoji and scripts that join
	return !joiner && (unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Co) || r == 0x3164 || r == 0x115F || r == 0x1160 || r == 0x2800)
}
