package textenc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	// MaxLine is the maximum bytes of a line in a [Window]; the rest is cut.
	MaxLine   = 64 << 10
	maxWindow = 4 << 20 // of all lines of a window together
	chunkSize = 256 << 10

	// binaryPrefix is the number of bytes at the start of a text in which a NUL byte
	// makes it binary, as git has it.
	binaryPrefix = 8 << 10

	// maxBinary is the size up to which a binary text is read to its end.
	maxBinary = 64 << 20
)

// chunks holds buffers for reading files in chunks.
var chunks = sync.Pool{New: func() any { b := make([]byte, chunkSize); return &b }}

// picker reads a text in chunks, counts its lines, and keeps the wanted lines. A line ends with LF;
// a CR before it is dropped, too.
type picker struct {
	wanted func(line int) bool
	last   int // no later line is wanted
	room   int // bytes kept of a line

	lines  []string
	binary bool

	line    int    // ends seen so far
	open    []byte // kept bytes of the unfinished line
	cut     bool   // the open line is longer than the kept bytes
	bytes   int    // fed so far
	held    int    // bytes in lines
	partial bool   // the text does not end with a line end
}

// pickWindow picks limit lines from line from on. If limit is 0 or less, it picks as many as fit.
func pickWindow(from, limit int) *picker {
	last := int(^uint(0) >> 1)
	if limit > 0 && limit < last-from {
		last = from + limit - 1
	}
	p := &picker{last: last, room: MaxLine}
	p.wanted = func(line int) bool { return line >= from && line <= p.last }
	return p
}

// pickLines picks the lines with numbers in wanted, at most room bytes of each.
func pickLines(wanted map[int]bool, room int) *picker {
	last := 0
	for line := range wanted {
		last = max(last, line)
	}
	return &picker{wanted: func(line int) bool { return wanted[line] }, last: last, room: room}
}

// done reports whether every wanted line was read.
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
			p.add(chunk)
			p.partial = true
			return
		}
		p.add(chunk[:end])
		p.end()
		chunk = chunk[end+1:]
	}
}

// add appends part to the open line, if it is wanted.
func (p *picker) add(part []byte) {
	if !p.wanted(p.line + 1) {
		return
	}
	if room := p.room + 1 - len(p.open); len(part) > room { // an extra byte: a CR
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
	text = CutText(text, p.room)
	p.lines = append(p.lines, string(text))
	p.held += len(text)
	if p.held >= maxWindow {
		p.last = p.line
	}
	p.open, p.cut = p.open[:0], false
}

// finish closes a last line without a line end.
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

// CutText cuts text to at most limit bytes, at the start of a character.
func CutText(text []byte, limit int) []byte {
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

// Window is a part of a text, by lines.
type Window struct {
	Lines     []string // without their ends; at most [MaxLine] bytes of each
	Offset    int      // number of the first line, from 1
	Total     int      // lines in the whole text
	Size      int64    // bytes in the whole text
	Next      int      // start of the next window; 0 at the end of the text
	Truncated bool     // there are lines after this window
	Binary    bool     // the text is binary: Lines is empty and Total 0
	Charset   Charset  // of the text; Lines are UTF-8 in any case
}

// ReadWindow reads all of r, which has size bytes, and returns limit lines from line
// offset on. If limit is 0 or less, it returns as many as fit.
func ReadWindow(ctx context.Context, r io.Reader, size int64, offset, limit int) (*Window, error) {
	win := &Window{Offset: max(offset, 1), Size: size}
	picked := pickWindow(win.Offset, limit)
	var err error
	if win.Charset, err = picked.readAll(ctx, r, size); err != nil {
		return nil, err
	}
	if picked.binary {
		win.Binary, win.Charset = true, CharsetUTF8
		return win, nil
	}
	picked.finish()
	win.Lines, win.Total = picked.lines, picked.line
	if win.Charset.byLines() {
		for i, line := range win.Lines {
			win.Lines[i] = string(win.Charset.Decode([]byte(line)))
		}
	}
	if next := win.Offset + len(win.Lines); next <= win.Total {
		win.Truncated, win.Next = true, next
	}
	return win, nil
}

// readAll reads all of r, UTF-16 as UTF-8, and returns the charset of the text.
func (p *picker) readAll(ctx context.Context, r io.Reader, size int64) (Charset, error) {
	pooled := chunks.Get().(*[]byte)
	defer chunks.Put(pooled)
	buf := *pooled
	var head [2]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	marked := markedCharset(head[:n], size)
	if marked != CharsetUTF8 {
		r = DecodingReader(r)
	}
	var counted tally
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.Read(buf)
		if marked == CharsetUTF8 {
			counted.write(buf[:n])
		}
		p.write(buf[:n])
		switch {
		case p.binary && size > maxBinary:
			return CharsetUTF8, nil // the rest changes nothing
		case errors.Is(err, io.EOF) && marked == CharsetUTF8:
			p.binary = p.binary || counted.noText()
			return counted.charset(), nil
		case errors.Is(err, io.EOF):
			return marked, nil
		case err != nil:
			return 0, err
		}
	}
}

// DecodingReader returns a reader of UTF-8. If r begins with a byte order mark of UTF-16,
// the reader decodes UTF-16, else it passes the bytes on.
func DecodingReader(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.BOMOverride(transform.Nop))
}

// ErrBinary reports text with a NUL byte among its first bytes.
var ErrBinary = errors.New("binary")

// ReadLines returns the lines of r with numbers in wanted, as UTF-8 and at most room bytes of each.
// Lines past the end of r are missing. If r is binary, the error is [ErrBinary].
func ReadLines(r io.Reader, wanted map[int]bool, room int) (map[int]string, error) {
	picked := pickLines(wanted, room)
	buf := chunks.Get().(*[]byte)
	defer chunks.Put(buf)
	r = DecodingReader(r)
	var counted tally
	for !picked.done() || counted.unclear() {
		n, err := r.Read(*buf)
		counted.write((*buf)[:n])
		picked.write((*buf)[:n])
		if errors.Is(err, io.EOF) {
			picked.finish()
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if picked.binary {
		return nil, ErrBinary
	}
	text := make(map[int]string)
	numbers := make([]int, 0, len(wanted))
	for line := range wanted {
		numbers = append(numbers, line)
	}
	slices.Sort(numbers)
	charset := counted.charset()
	for i, line := range picked.lines {
		switch {
		case charset.byLines():
			line = string(charset.Decode([]byte(line)))
		case !utf8.ValidString(line):
			line = string(CharsetOf([]byte(line)).Decode([]byte(line)))
		}
		text[numbers[i]] = line
	}
	return text, nil
}
