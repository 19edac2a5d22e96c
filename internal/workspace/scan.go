package workspace

import (
	"bytes"
	"errors"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// A line longer than this is searched in parts of this length.
const maxSearchLine = 16 << 20

// scan searches one text. hit is called with each matching line's number. It
// reports a NUL byte anywhere, which makes the text binary: its hits do not count.
func (p *pattern) scan(r io.Reader, hit func(line int)) (binary bool, err error) {
	pooled := chunks.Get().(*[]byte)
	defer chunks.Put(pooled)
	s := scanner{pattern: p, hit: hit, line: 1}
	buf, held := *pooled, 0 // what is held is an unfinished line
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

// sniff looks for a byte order mark at the start of a text and drops it; what is
// UTF-16 is read as UTF-8 from then on.
func sniff(buf []byte, n int, r io.Reader, err error) (int, io.Reader, error) {
	switch {
	case bytes.HasPrefix(buf[:n], []byte("\xef\xbb\xbf")):
		return copy(buf, buf[3:n]), r, err
	case bytes.HasPrefix(buf[:n], []byte("\xff\xfe")), bytes.HasPrefix(buf[:n], []byte("\xfe\xff")):
		head := bytes.NewReader(bytes.Clone(buf[:n]))
		return 0, decoded(io.MultiReader(head, r)), nil
	}
	return n, r, err
}

// decoded reads UTF-8 and, by its byte order mark, UTF-16.
func decoded(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.BOMOverride(transform.Nop))
}

// scanner counts lines from hit to hit.
type scanner struct {
	pattern *pattern
	hit     func(line int)
	line    int // number of the first line of what is fed next
	last    int // the line of the last hit
}

// consume searches the whole lines of a full buffer and keeps the rest. A line
// that fills the buffer gets a larger one, up to a limit.
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

// feed searches text, which continues what was fed before.
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
