package chat

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
)

// OneLine shortens text to a single line of at most limit characters. Characters are written as
// their code if they are invisible or control a terminal.
func OneLine(text string, limit int) string {
	if len(text) > 8*limit { // enough for so many characters, however long they are
		text = text[:8*limit]
	}
	text = escape.Text(strings.Join(strings.Fields(text), " "))
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}
