package textenc

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Encoding is the unit in which a client counts the characters of a line.
type Encoding string

// The encodings of LSP. An invalid UTF-8 byte counts as one unit in each.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// Position is a position in a text as LSP defines it: both numbers start at 0. Lines end
// with LF, CRLF, or a CR alone; the end is not part of the line.
type Position struct{ Line, Character uint32 }

// Range is the text from Start up to End, which is not in it.
type Range struct{ Start, End Position }

// Offset returns the byte offset of p in text. If p is past the end of its line or of the text,
// Offset returns this end. If p is inside a character, it returns its start.
func Offset(text []byte, p Position, enc Encoding) int {
	start := 0
	for range p.Line {
		n := lineLength(text[start:])
		if n < 0 {
			return len(text)
		}
		start += n
	}
	line := text[start:]
	if n := lineLength(line); n >= 0 {
		line = trimEnd(line[:n])
	}
	return start + column(line, p.Character, enc)
}

// PositionAt returns the position of a byte offset in text. An offset between CR and LF is the end
// of the line; an offset inside a character is its start.
func PositionAt(text []byte, offset int, enc Encoding) Position {
	offset = min(max(offset, 0), len(text))
	var p Position
	start := 0
	for {
		n := lineLength(text[start:])
		if n < 0 || start+n > offset {
			line := text[start:]
			if n >= 0 {
				line = trimEnd(line[:n])
			}
			p.Character = units(line, offset-start, enc)
			return p
		}
		start += n
		p.Line++
	}
}

// LastPosition returns the end of the last line of text. If text ends with a line end, this is before
// it: some editors have no line after it.
func LastPosition(text []byte, enc Encoding) Position {
	return PositionAt(text, len(trimEnd(text)), enc)
}

// lineLength is the length of the first line of text with its end; -1 when the
// line has no end.
func lineLength(text []byte) int {
	lf := bytes.IndexByte(text, '\n')
	head := text
	if lf >= 0 {
		head = text[:lf]
	}
	cr := bytes.IndexByte(head, '\r')
	switch {
	case cr >= 0 && cr != lf-1:
		return cr + 1
	case lf >= 0:
		return lf + 1
	}
	return -1
}

// trimEnd cuts the line end off.
func trimEnd(line []byte) []byte {
	switch n := len(line); {
	case n >= 2 && line[n-2] == '\r' && line[n-1] == '\n':
		return line[:n-2]
	case n >= 1 && (line[n-1] == '\n' || line[n-1] == '\r'):
		return line[:n-1]
	}
	return line
}

// column is the byte offset of a character of line.
func column(line []byte, character uint32, enc Encoding) int {
	at := 0
	for at < len(line) {
		size, width := measure(line[at:], enc)
		if width > character {
			break
		}
		character -= width
		at += size
	}
	return at
}

// units counts the characters of line before a byte offset.
func units(line []byte, offset int, enc Encoding) uint32 {
	var n uint32
	for at := 0; at < len(line); {
		size, width := measure(line[at:], enc)
		if at+size > offset {
			break
		}
		at += size
		n += width
	}
	return n
}

// measure returns the bytes of the first character of text, and how many a client
// counts for it.
func measure(text []byte, enc Encoding) (size int, width uint32) {
	if text[0] < utf8.RuneSelf {
		return 1, 1
	}
	r, size := utf8.DecodeRune(text)
	switch {
	case enc == UTF8:
		return size, uint32(size)
	case enc != UTF32 && r > 0xFFFF:
		return size, 2
	}
	return size, 1
}

// Index finds positions in a text of which it keeps the line starts.
type Index struct {
	text   []byte
	starts []int
}

// NewIndex returns the index of text.
func NewIndex(text []byte) *Index { return &Index{text, lineStarts(text)} }

// PositionAt is [PositionAt] for the text of the index.
func (x *Index) PositionAt(offset int, enc Encoding) Position {
	line := sort.SearchInts(x.starts, offset+1) - 1
	end := len(x.text)
	if line+1 < len(x.starts) {
		end = x.starts[line+1]
	}
	start := x.starts[line]
	return Position{Line: uint32(line), Character: units(x.text[start:end], offset-start, enc)}
}

// Lines returns the number of lines. A line end at the end of the text begins another, empty line.
func (x *Index) Lines() int { return len(x.starts) }

// Line returns a line, from 0, without its end. If there is none, it returns false.
func (x *Index) Line(n int) (line []byte, ok bool) {
	if n < 0 || n >= len(x.starts) {
		return nil, false
	}
	if n+1 < len(x.starts) {
		return trimEnd(x.text[x.starts[n]:x.starts[n+1]]), true
	}
	return x.text[x.starts[n]:], true
}

// Offset is [Offset] for the text of the index.
func (x *Index) Offset(p Position, enc Encoding) int {
	line, ok := x.Line(int(p.Line))
	if !ok {
		return len(x.text)
	}
	return x.starts[p.Line] + column(line, p.Character, enc)
}

// lineStarts lists the offsets at which the lines begin as LSP counts them.
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

// Splits reports whether an offset is inside a character or between CR and LF.
func Splits(text []byte, at int) bool {
	if at <= 0 || at >= len(text) {
		return false
	}
	return !utf8.RuneStart(text[at]) || text[at-1] == '\r' && text[at] == '\n'
}
