package workspace

import (
	"sort"
	"unicode/utf8"
)

// TextEdit replaces a range of a text.
type TextEdit struct {
	Range
	NewText string
}

// Edits returns the edits that make old into next: few and small, ascending, none
// overlapping, all in positions of old.
func Edits(old, next []byte, enc Encoding) []TextEdit {
	oldLines, newLines := splitLines(old), splitLines(next)
	var index []int
	var edits []TextEdit
	for _, c := range lineChanges(oldLines, newLines) {
		if index == nil {
			index = lineStarts(old)
		}
		from, to := offsetOf(oldLines, c.oldFrom, len(old)), offsetOf(oldLines, c.oldTo, len(old))
		newFrom, newTo := offsetOf(newLines, c.newFrom, len(next)), offsetOf(newLines, c.newTo, len(next))
		head, tail := shared(old[:to], from, next[:newTo], newFrom)
		edits = append(edits, TextEdit{
			Range: Range{
				Start: positionIn(old, index, from+head, enc),
				End:   positionIn(old, index, to-tail, enc),
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
	for head > 0 && (splits(old, from+head) || splits(next, newFrom+head)) {
		head--
	}
	for tail < limit-head && old[len(old)-1-tail] == next[len(next)-1-tail] {
		tail++
	}
	for tail > 0 && (splits(old, len(old)-tail) || splits(next, len(next)-tail)) {
		tail--
	}
	return head, tail
}

// splits reports whether an offset lies inside a character or between CR and LF.
func splits(text []byte, at int) bool {
	if at <= 0 || at >= len(text) {
		return false
	}
	return !utf8.RuneStart(text[at]) || text[at-1] == '\r' && text[at] == '\n'
}

// lineStarts lists where the lines begin as LSP counts them.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for at := 0; ; {
		n := lineLength(text[at:])
		if n < 0 {
			return starts
		}
		at += n
		starts = append(starts, at)
	}
}

// positionIn is [PositionAt] with the line starts at hand.
func positionIn(text []byte, starts []int, offset int, enc Encoding) Position {
	line := sort.SearchInts(starts, offset+1) - 1
	end := len(text)
	if line+1 < len(starts) {
		end = starts[line+1]
	}
	start := starts[line]
	return Position{Line: uint32(line), Character: units(text[start:end], offset-start, enc)}
}
