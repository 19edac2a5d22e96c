package textenc

import "slices"

// GapBuffer is a text for many small changes. The bytes are stored around a gap at the last change,
// and so are the starts of the lines: before the gap they count from the beginning, after it from
// the end. A change therefore costs its own length and its distance from the previous change. A
// GapBuffer is not safe for concurrent use.
type GapBuffer struct {
	buf        []byte
	start, end int // the gap in buf

	above []int // starts of lines before the change, as offsets
	below []int // starts of lines after it, as distances from the end; nearest last
}

// NewGapBuffer returns a buffer that holds text.
func NewGapBuffer(text []byte) *GapBuffer {
	t := &GapBuffer{}
	t.Replace(0, 0, text)
	return t
}

// Len returns the bytes of the text.
func (t *GapBuffer) Len() int { return len(t.buf) - (t.end - t.start) }

// Bytes returns a copy of the text.
func (t *GapBuffer) Bytes() []byte {
	text := make([]byte, 0, t.Len())
	text = append(text, t.buf[:t.start]...)
	return append(text, t.buf[t.end:]...)
}

func (t *GapBuffer) at(i int) byte {
	if i >= t.start {
		i += t.end - t.start
	}
	return t.buf[i]
}

// Replace replaces the bytes from offset from up to offset to by text.
func (t *GapBuffer) Replace(from, to int, text []byte) {
	t.seekLines(from)
	for n := len(t.below); n > 0 && t.Len()-t.below[n-1] <= to; n-- {
		t.below = t.below[:n-1]
	}
	t.seek(from)
	t.end += to - from
	t.reserve(len(text))
	t.start += copy(t.buf[t.start:], text)
	if from > 0 && t.startsLine(from) {
		t.above = append(t.above, from)
	}
	for i, c := range text {
		if (c == '\n' || c == '\r') && t.startsLine(from+i+1) {
			t.above = append(t.above, from+i+1)
		}
	}
}

// startsLine reports whether a line begins at offset at, which is not 0.
func (t *GapBuffer) startsLine(at int) bool {
	switch t.at(at - 1) {
	case '\n':
		return true
	case '\r':
		return at == t.Len() || t.at(at) != '\n'
	}
	return false
}

// seekLines makes above hold exactly the line starts before offset.
func (t *GapBuffer) seekLines(offset int) {
	size := t.Len()
	for n := len(t.above); n > 0 && t.above[n-1] >= offset; n-- {
		t.below = append(t.below, size-t.above[n-1])
		t.above = t.above[:n-1]
	}
	for n := len(t.below); n > 0 && size-t.below[n-1] < offset; n-- {
		t.above = append(t.above, size-t.below[n-1])
		t.below = t.below[:n-1]
	}
}

// seek moves the gap to offset.
func (t *GapBuffer) seek(offset int) {
	switch {
	case offset < t.start:
		n := t.start - offset
		copy(t.buf[t.end-n:], t.buf[offset:t.start])
		t.start, t.end = offset, t.end-n
	case offset > t.start:
		n := offset - t.start
		copy(t.buf[t.start:], t.buf[t.end:t.end+n])
		t.start, t.end = offset, t.end+n
	}
}

// reserve makes the gap at least n bytes wide.
func (t *GapBuffer) reserve(n int) {
	if t.end-t.start >= n {
		return
	}
	grow := n + t.Len()/8 + 256
	t.buf = slices.Insert(t.buf, t.end, make([]byte, grow)...)
	t.end += grow
}

// lineStart returns the offset of the start of a line. Past the last line, ok is false.
func (t *GapBuffer) lineStart(line int) (offset int, ok bool) {
	switch i := line - 1; {
	case line == 0:
		return 0, true
	case i < len(t.above):
		return t.above[i], true
	case i < len(t.above)+len(t.below):
		return t.Len() - t.below[len(t.below)-1-(i-len(t.above))], true
	}
	return t.Len(), false
}

// Offset is [Offset] for the text of the buffer.
func (t *GapBuffer) Offset(p Position, enc Encoding) int {
	start, ok := t.lineStart(int(p.Line))
	if !ok {
		return start
	}
	end, more := t.lineStart(int(p.Line) + 1)
	line := t.slice(start, end)
	if more {
		line = trimEnd(line)
	}
	return start + column(line, p.Character, enc)
}

// slice returns the bytes between two offsets, in place when the gap allows it.
func (t *GapBuffer) slice(from, to int) []byte {
	if from < t.start && to > t.start {
		t.seek(from)
	}
	if from >= t.start {
		gap := t.end - t.start
		return t.buf[from+gap : to+gap]
	}
	return t.buf[from:to]
}
