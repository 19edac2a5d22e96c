package escape

import (
	"slices"
	"strings"
	"unicode"
)

// HasUnseen reports whether a text contains characters visible only to a model: invisible
// characters, changes of text direction, and tags. The joiner of emoji sequences and scripts is
// allowed between visible characters.
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
	case r == '\u200e' || r == '\u200f' || r == '\u061c': // marks in right-to-left text
		return !slices.ContainsFunc(runes, fromTheRight)
	case r == '\ufe0e' || r == '\ufe0f': // a text or an emoji; also of digits, # and *
		return last < 0xa0 && !(last >= '0' && last <= '9' || last == '#' || last == '*')
	case unicode.Is(unicode.Variation_Selector, r): // forms of Chinese characters and of some scripts
		return last < 0x300 || unicode.Is(unicode.Variation_Selector, last)
	case r >= 0xe0000 && r <= 0xe007f: // tags; in flags they follow a black flag
		return !isFlag(runes[:i])
	}
	// Blank letters, and format characters. Some of these are visible, such as the Arabic sign of a
	// year.
	return blank(r) || unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// firstUnseen is the first possibly invisible character, except control characters.
const firstUnseen = '\u00ad'

func fromTheRight(r rune) bool {
	return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
}

// Visible returns a text for the model without invisible characters.
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
