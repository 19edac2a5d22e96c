package workspace

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

const (
	maxLine   = 64 << 10 // kept of a line; the rest is cut
	maxWindow = 4 << 20  // kept of all lines together
	chunkSize = 256 << 10
)

// chunks holds buffers for reading files in chunks.
var chunks = sync.Pool{New: func() any { b := make([]byte, chunkSize); return &b }}

// picker takes a text in chunks, counts its lines, and keeps those wanted. A line
// ends with LF; a CR before it is not kept either.
type picker struct {
	wanted func(line int) bool
	last   int // no line after this one is wanted
	room   int // bytes kept of a line

	lines  []string
	binary bool

	line    int    // ends seen so far
	open    []byte // kept of the line that has not ended yet
	cut     bool   // the open line is longer than what is kept
	bytes   int    // fed so far
	kept    int    // in lines
	partial bool   // the text does not end with a line end
}

// pickWindow keeps limit lines from line from on; limit ≤ 0: as many as fit.
func pickWindow(from, limit int) *picker {
	last := int(^uint(0) >> 1)
	if limit > 0 && limit < last-from {
		last = from + limit - 1
	}
	p := &picker{last: last, room: maxLine}
	p.wanted = func(line int) bool { return line >= from && line <= p.last }
	return p
}

// pickLines keeps the lines whose numbers are in wanted.
func pickLines(wanted map[int]bool) *picker {
	last := 0
	for line := range wanted {
		last = max(last, line)
	}
	return &picker{wanted: func(line int) bool { return wanted[line] }, last: last, room: maxLine}
}

// done reports whether every wanted line is there.
func (p *picker) done() bool { return p.line >= p.last }

func (p *picker) write(chunk []byte) {
	if p.bytes < binaryPrefix && bytes.IndexByte(chunk[:min(len(chunk), binaryPrefix-p.bytes)], 0) >= 0 {
		p.binary = true
	}
	p.bytes += len(chunk)
	if p.binary {
		return
	}
	for len(chunk) > 0 {
		if p.done() {
			p.line += bytes.Count(chunk, []byte{'\n'})
			p.partial = chunk[len(chunk)-1] != '\n'
			return
		}
		end := bytes.IndexByte(chunk, '\n')
		if end < 0 {
			p.take(chunk)
			p.partial = true
			return
		}
		p.take(chunk[:end])
		p.end()
		chunk = chunk[end+1:]
	}
}

// take keeps part of the open line.
func (p *picker) take(part []byte) {
	if !p.wanted(p.line + 1) {
		return
	}
	if room := p.room + 1 - len(p.open); len(part) > room { // one more: a CR
		part, p.cut = part[:room], true
	}
	p.open = append(p.open, part...)
}

// end closes the open line.
func (p *picker) end() {
	p.line++
	p.partial = false
	if !p.wanted(p.line) {
		return
	}
	text := p.open
	if !p.cut {
		text = bytes.TrimSuffix(text, []byte{'\r'})
	}
	text = cutText(text, p.room)
	p.lines = append(p.lines, string(text))
	p.kept += len(text)
	if p.kept >= maxWindow {
		p.last = p.line
	}
	p.open, p.cut = p.open[:0], false
}

// finish closes a last line that has no end.
func (p *picker) finish() {
	if !p.partial {
		return
	}
	if p.done() {
		p.line++
	} else {
		p.end()
	}
	p.partial = false
}

func (p *picker) total() int { return p.line }

// cutText cuts text to at most limit bytes, at the start of a rune.
func cutText(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	for back := range utf8.UTFMax {
		if utf8.RuneStart(text[limit-back]) {
			return text[:limit-back]
		}
	}
	return text[:limit]
}
