// Package clean removes invisible characters from texts of servers.
package clean

import (
	"strings"
	"unicode"
)

// Text returns a server's text without characters that are invisible or control a
// terminal. It cuts the text at limit.
func Text(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// Line returns a text in one line, without invisible characters, cut at limit.
func Line(text string, limit int) string {
	return strings.Join(strings.Fields(Text(text, limit)), " ")
}
