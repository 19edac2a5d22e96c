package escape

import (
	"slices"
	"strings"
	"unicode"
)

// HasUnseen reports whether a text has characters that a reader does not see and a model does: invisible ones, those that
// change the direction of text, and tags. The joiner of emoji sequences and scripts is allowed between visible characters.
func HasUnseen(text string) bool {
	runes := []rune(text)
	for i := range runes {
		if unseenAt(runes, i) {
			return true
		}
	}
	return false
}

func unseenAt(runes []rune, i int) bool {
	r, last, next := runes[i], rune(0), rune(0)
	if r < firstUnseen {
		return false
	}
	if i > 0 {
		last = runes[i-1]
	}
	if i+1 < len(runes) {
		next = runes[i+1]
	}
	switch {
	case r == '\u200d' || r == '\u200c': // joins emoji and letters of some scripts
		return last < 0x300 || next < 0x300
	case r == '\u200e' || r == '\u200f' || r == '\u061c': // marks of texts that run from right to left
		return !slices.ContainsFunc(runes, fromTheRight)
	case r == '\ufe0e' || r == '\ufe0f': // a text or an emoji; also of digits, # and *
		return last < 0xa0 && !(last >= '0' && last <= '9' || last == '#' || last == '*')
	case unicode.Is(unicode.Variation_Selector, r): // forms of Chinese characters and of some scripts
		return last < 0x300 || unicode.Is(unicode.Variation_Selector, last)
	case r >= 0xe0000 && r <= 0xe007f: // tags; those of flags follow a black flag
		return !isFlag(runes[:i])
	}
	// Blank letters, and characters that only format. Some of these are seen, such as the sign of a year in Arabic.
	return blank(r) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// firstUnseen is the first character that can be unseen, but for control characters.
const firstUnseen = '\u00ad'

func fromTheRight(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// Visible returns a text for the model without the characters that a reader does not see.
func Visible(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= firstUnseen }) {
		return text
	}
	runes := []rune(text)
	var b strings.Builder
	for i, r := range runes {
		if !unseenAt(runes, i) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isFlag reports whether runes end with an emoji flag, whose tags may follow.
func isFlag(runes []rune) bool {
	for i := len(runes) - 1; i >= 0 && i > len(runes)-8; i-- {
		if runes[i] == 0x1f3f4 {
			return true
		}
		if runes[i] < 0xe0000 {
			return false
		}
	}
	return false
}
