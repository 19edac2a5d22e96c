// Package shorten shortens texts for lists and messages. It does not escape: see internal/escape.
package shorten

import (
	"strings"
	"unicode/utf8"
)

// ellipsis ends a text that was cut.
const ellipsis = "…"

// OneLine returns text as one line of at most limit characters: white space becomes single spaces.
func OneLine(text string, limit int) string {
	if enough := 8 * limit; len(text) > enough { // however long the characters are
		text = text[:enough]
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:max(limit-1, 0)]), " ") + ellipsis
}

// FirstLine returns the first line of text that is not empty, without white space around it.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// Start returns the first limit bytes of text, without a part of a character, and an ellipsis. If text is not
// longer, it returns text.
func Start(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(limit, 0)], "") + ellipsis
}
