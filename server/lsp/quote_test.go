package lsp

import (
	"math"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/protocol"
)

// A range can be anywhere: an editor can have another text than the server.
func TestQuoteLines(t *testing.T) {
	t.Parallel()
	const text = "one\ntwo\nthree"
	const most = math.MaxUint32
	for want, ranges := range map[string][][4]uint32{
		"two\n":           {{1, 0, 1, 0}, {1, 2, 1, 1}, {1, 0, 0, 0}, {1, most, 1, 0}},
		"ne\ntw":          {{0, 1, 1, 2}},
		"two\nthree":      {{1, 0, 9, 0}, {1, 0, most, most}},
		"three":           {{2, 0, 2, 0}},
		"":                {{9, 0, 9, 0}, {most, most, most, most}, {most, 0, 0, 0}},
		"one\ntwo\nthree": {{0, 0, most, 0}},
	} {
		for _, r := range ranges {
			at := protocol.Range{Start: protocol.Position{Line: r[0], Character: r[1]}, End: protocol.Position{Line: r[2], Character: r[3]}}
			if got := quoteLines([]byte(text), at, textenc.UTF16); got != want {
				t.Errorf("%v: %q, want %q", r, got, want)
			}
		}
	}
}
