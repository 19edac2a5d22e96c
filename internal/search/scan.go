package search

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// A line longer than this is searched in parts of this length.
const maxSearchLine = 16 << 20

// chunks holds buffers for reading files in chunks.
var chunks = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// scan searches a text and calls hit with the number of each matching line. If the text contains a
// NUL byte, it is binary and its hits do not count.
func (p *pattern) scan(r io.Reader, hit func(line int)) (binary bool, err error) {
	pooled := chunks.Get().(*[]byte)
	defer chunks.Put(pooled)
	s := scanner{pattern: p, hit: hit, line: 1}
	buf, held := *pooled, 0 // the first held bytes are an unfinished line
	for first := true; ; first = false {
		n, err := r.Read(buf[held:])
		if first {
			n, r, err = sniff(buf, n, r, err)
		}
		if bytes.IndexByte(buf[held:held+n], 0) >= 0 {
			return true, nil
		}
		held += n
		switch {
		case errors.Is(err, io.EOF):
			s.feed(buf[:held])
			return false, nil
		case err != nil:
			return false, err
		case held == len(buf):
			buf, held = s.consume(buf)
		}
	}
}

// sniff drops a byte order mark at the start of a text. If the encoding is not UTF-8, the returned
// reader decodes it.
func sniff(buf []byte, n int, r io.Reader, err error) (int, io.Reader, error) {
	switch {
	case bytes.HasPrefix(buf[:n], []byte("\xef\xbb\xbf")):
		return copy(buf, buf[3:n]), r, err
	case bytes.HasPrefix(buf[:n], []byte("\xff\xfe")), bytes.HasPrefix(buf[:n], []byte("\xfe\xff")):
		head := bytes.NewReader(bytes.Clone(buf[:n]))
		return 0, textenc.DecodingReader(io.MultiReader(head, r)), nil
	}
	head := buf[:n]
	if end := bytes.LastIndexByte(head, '\n'); end > 0 {
		head = head[:end+1]
	}
	if utf8.Valid(head) && bytes.IndexByte(head, 0x1b) < 0 {
		return n, r, err
	}
	decoded, ok := textenc.CharsetOf(head).Reader(io.MultiReader(bytes.NewReader(bytes.Clone(buf[:n])), r))
	if !ok {
		return n, r, err
	}
	return 0, decoded, nil
}

// scanner counts lines from hit to hit.
type scanner struct {
	pattern *pattern
	hit     func(line int)
	line    int // number of the next line to feed
	last    int // the line of the last hit
}

// consume searches the whole lines of a full buffer and moves the rest to its start. If a single
// line fills the buffer, consume returns a larger buffer, up to a limit.
func (s *scanner) consume(buf []byte) (next []byte, held int) {
	if end := bytes.LastIndexByte(buf, '\n') + 1; end > 0 {
		s.feed(buf[:end])
		return buf, copy(buf, buf[end:])
	}
	if len(buf) < maxSearchLine {
		larger := make([]byte, 2*len(buf))
		return larger, copy(larger, buf)
	}
	s.feed(buf)
	return buf, 0
}

// feed searches text, which follows the text of the call before.
func (s *scanner) feed(text []byte) {
	counted := 0
	s.pattern.matches(text, func(start int) {
		s.line += bytes.Count(text[counted:start], []byte{'\n'})
		counted = start
		if s.line != s.last { // else a very long line, fed in parts
			s.hit(s.line)
		}
		s.last = s.line
	})
	s.line += bytes.Count(text[counted:], []byte{'\n'})
}
