// Package tap shows the frames of a connection to observers while they pass. Neither the
// reader nor the writer of the connection knows of it.
//
//	in, out := tap.Wrap(os.Stdin, os.Stdout, tap.Lines, recorder.Frame, meter.Frame)
//
// A frame from the client is shown before its reader gets the last byte of it. A frame of
// the server is shown before it is written. So a request is always shown before its
// response.
package tap

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
)

// maxFrame is the size from which on a frame is not shown whole. The readers of the
// connection reject such a frame.
const maxFrame = 64 << 20

// Framing is the way messages are separated.
type Framing int

const (
	Headers Framing = iota // LSP: Content-Length, a blank line, a body
	Lines                  // a message a line
)

// Frame is a message as it passed.
type Frame struct {
	FromClient bool
	Body       []byte // valid during the call only
	Stray      bool   // Body is no message: bytes outside of the framing
}

// Observer receives frames, one after another.
type Observer func(Frame)

// Wrap returns a reader and a writer that pass on the data of in and out. Closing them closes in
// and out, if possible. If an observer panics, it gets no more frames.
func Wrap(in io.Reader, out io.Writer, framing Framing, observers ...Observer) (io.Reader, io.Writer) {
	show := &audience{observers: observers}
	return &reader{in, &splitter{framing: framing, show: func(b []byte, stray bool) { show.frame(Frame{true, b, stray}) }}},
		&writer{out, &splitter{framing: framing, show: func(b []byte, stray bool) { show.frame(Frame{false, b, stray}) }}}
}

// audience shows a frame to the observers.
type audience struct {
	mu        sync.Mutex
	observers []Observer
}

func (a *audience) frame(f Frame) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, o := range a.observers {
		if o != nil && !shown(o, f) {
			a.observers[i] = nil
		}
	}
}

func shown(o Observer, f Frame) (ok bool) {
	defer func() { ok = recover() == nil }()
	o(f)
	return
}

type reader struct {
	in    io.Reader
	split *splitter
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.split.write(p[:n])
	return n, err
}

func (r *reader) Close() error { return closeEnd(r.in) }

type writer struct {
	out   io.Writer
	split *splitter
}

func (w *writer) Write(p []byte) (int, error) {
	w.split.write(p)
	return w.out.Write(p)
}

func (w *writer) Close() error { return closeEnd(w.out) }

func closeEnd(end any) error {
	if c, ok := end.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// splitter finds the frames in a stream.
type splitter struct {
	framing Framing
	show    func(body []byte, stray bool)
	held    []byte // of an incomplete line, header or body
	body    int    // bytes of the current body; 0: a header is being read
	skip    int    // bytes still to be passed over
	lost    bool   // the stream is no frames; the rest is not shown
}

func (s *splitter) write(p []byte) {
	for len(p) > 0 && !s.lost {
		if s.skip > 0 {
			n := min(s.skip, len(p))
			s.skip, p = s.skip-n, p[n:]
			continue
		}
		if s.body > 0 {
			p = s.takeBody(p)
			continue
		}
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			s.held = append(s.held, p...)
			s.lost = len(s.held) > maxFrame
			return
		}
		line := p[:end]
		p = p[end+1:]
		if s.framing == Headers {
			s.held = append(append(s.held, line...), '\n')
			s.header()
			continue
		}
		if len(s.held) > 0 {
			line = append(s.held, line...)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			s.show(line, false)
		}
		s.held = s.held[:0]
	}
}

func (s *splitter) takeBody(p []byte) (rest []byte) {
	n := min(s.body-len(s.held), len(p))
	if len(s.held) == 0 && n == s.body { // whole: no copy
		s.body = 0
		s.show(p[:n], false)
		return p[n:]
	}
	s.held = append(s.held, p[:n]...)
	if len(s.held) == s.body {
		s.show(s.held, false)
		s.held, s.body = s.held[:0], 0
		if cap(s.held) > 1<<20 {
			s.held = nil
		}
	}
	return p[n:]
}

// header checks whether the held lines end a header.
func (s *splitter) header() {
	text := string(s.held)
	last := strings.TrimSuffix(text, "\n")
	if i := strings.LastIndexByte(last, '\n'); i >= 0 {
		last = last[i+1:]
	}
	if strings.TrimSpace(last) != "" {
		s.lost = len(s.held) > 8<<10
		return
	}
	length, stray := -1, false
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		switch name = strings.TrimSpace(name); {
		case strings.EqualFold(name, "Content-Length"):
			if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
				length = n
			}
		case name != "" && !strings.EqualFold(name, "Content-Type"):
			stray = true
		}
	}
	if stray {
		s.show(s.held[:strayEnd(text)], true)
	}
	s.held = s.held[:0]
	if length > maxFrame {
		s.skip = length
	} else {
		s.body = max(length, 0)
	}
}

// strayEnd is where the header begins behind stray lines.
func strayEnd(text string) int {
	if i := strings.LastIndex(strings.ToLower(text), "content-length"); i >= 0 {
		return i
	}
	return len(text)
}
