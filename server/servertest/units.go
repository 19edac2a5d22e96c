package servertest

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// units counts characters of positions in the negotiated encoding. The editor has separate
// functions, to check the server's.
type units struct{ utf16 bool }

// width is how many units of the negotiated encoding a rune has.
func (u units) width(r rune) int {
	if u.utf16 {
		return utf16.RuneLen(r)
	}
	return utf8.RuneLen(r)
}

// position returns the position of an offset.
func (u units) position(text string, offset int) map[string]int {
	line := strings.Count(text[:offset], "\n")
	start := strings.LastIndex(text[:offset], "\n") + 1
	character := 0
	for _, r := range text[start:offset] {
		character += u.width(r)
	}
	return map[string]int{"line": line, "character": character}
}

// offset returns the offset of a position, or the end of the text.
func (u units) offset(text string, line, character int) int {
	at := 0
	for range line {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	for _, r := range text[at:] {
		if character <= 0 || r == '\n' {
			break
		}
		character -= u.width(r)
		at += utf8.RuneLen(r)
	}
	return at
}
