package tools

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine returns text for a line of at most limit characters: white space becomes single
// spaces, and control characters are escaped.
func OneLine(text string, limit int) string {
	// Enough for limit characters of four bytes, however long the text is.
	if len(text) > 8*limit {
		text = text[:8*limit]
	}
	line := Visible(strings.Join(strings.Fields(text), " "))
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	return strings.TrimRight(string([]rune(line)[:limit-1]), " ") + "…"
}

// Visible escapes control characters and invalid bytes. The name of a file can then neither move a
// cursor nor hide text.
func Visible(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && text[i] != "\uFFFD"[0]:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case hidden(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r) && r != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == utf8.RuneError
}
