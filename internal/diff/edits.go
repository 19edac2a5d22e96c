package diff

import "github.com/hermes-ls/hermes-ls/internal/textenc"

// Edit replaces a range of a text.
type Edit struct {
	textenc.Range
	NewText string
}

// Edits returns the edits from old to next: few, small, ascending, not overlapping, and all in
// positions of old.
func Edits(old, next []byte, enc textenc.Encoding) []Edit {
	oldLines, newLines := splitLines(old), splitLines(next)
	var index *textenc.Index
	var edits []Edit
	for _, c := range changesOf(oldLines, newLines) {
		if index == nil {
			index = textenc.NewIndex(old)
		}
		from, to := offsetOf(oldLines, c.OldFrom, len(old)), offsetOf(oldLines, c.OldTo, len(old))
		newFrom, newTo := offsetOf(newLines, c.NewFrom, len(next)), offsetOf(newLines, c.NewTo, len(next))
		head, tail := shared(old[:to], from, next[:newTo], newFrom)
		edits = append(edits, Edit{
			Range: textenc.Range{
				Start: index.PositionAt(from+head, enc),
				End:   index.PositionAt(to-tail, enc),
			},
			NewText: string(next[newFrom+head : newTo-tail]),
		})
	}
	return edits
}

// shared returns how many bytes old[from:] and next[newFrom:] have in common at
// their beginning and at their end, neither splitting a character nor a CRLF.
func shared(old []byte, from int, next []byte, newFrom int) (head, tail int) {
	limit := min(len(old)-from, len(next)-newFrom)
	for head < limit && old[from+head] == next[newFrom+head] {
		head++
	}
	for head > 0 && (textenc.Splits(old, from+head) || textenc.Splits(next, newFrom+head)) {
		head--
	}
	for tail < limit-head && old[len(old)-1-tail] == next[len(next)-1-tail] {
		tail++
	}
	for tail > 0 && (textenc.Splits(old, len(old)-tail) || textenc.Splits(next, len(next)-tail)) {
		tail--
	}
	return head, tail
}
