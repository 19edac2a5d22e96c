package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// events reads a stream of server-sent events in the vendors' variants. It drops comments, ids
// and empty lines, and joins data of several lines. If it receives an error event, it ends the
// stream with the error from refused. Callers use either [events.Next] or [events.Read]. Read
// returns the libraries' format: a line "data: {…}\n" for each event.
type events struct {
	src     *bufio.Reader
	body    io.Closer
	refused func(data []byte) error
	alarm   *alarm

	name    string // of the event being read
	data    []byte // of the event being read
	long    []byte // a line longer than the reader's buffer
	event   string // the name of the event in out
	out     []byte // an event as a line, not yet read
	buf     []byte // backs out
	seen    bool   // an event was received
	done    bool   // [DONE] was received
	started bool   // the byte order mark was checked
	ended   bool   // the last line ended with CR, of which LF may be the rest
	read    int    // bytes read from the source
	sample  []byte // the first lines outside events
	err     error
}

const (
	maxEvent  = 16 << 20  // bytes of an event; more than a whole response as JSON
	maxStream = 256 << 20 // bytes of all events and comments of a response; about 300 for each token
	maxSample = 200
)

var errNoEvents = errors.New("no event stream")

func newEvents(body io.ReadCloser, a *alarm, refused func([]byte) error) *events {
	return &events{src: bufio.NewReaderSize(&watched{body, a}, 16<<10), body: body, refused: refused, alarm: a}
}

func (r *events) Close() error { return r.body.Close() }

// Read copies converted lines to p. If p is too small, the next Read returns the rest.
func (r *events) Read(p []byte) (int, error) {
	for len(r.out) == 0 && r.err == nil {
		r.err = r.next()
	}
	if len(r.out) == 0 {
		return 0, r.err
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// Next returns the next event. data is valid until the next call. "[DONE]" is io.EOF.
func (r *events) Next() (name string, data []byte, err error) {
	for len(r.out) == 0 && r.err == nil {
		r.err = r.next()
	}
	if len(r.out) == 0 {
		return "", nil, r.err
	}
	data = r.out[len(dataField) : len(r.out)-1]
	r.out = nil
	if string(data) == "[DONE]" {
		return "", nil, io.EOF
	}
	return r.event, data, nil
}

const dataField = "data: "

// next handles a line of the source.
func (r *events) next() error {
	line, err := r.line()
	if err != nil {
		return r.last(err)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(line) == 0:
		return r.dispatch()
	case line[0] == ':':
		r.alarm.comment()
	case string(field) == "data":
		return r.add(value)
	case string(field) == "event":
		if r.name != string(value) {
			r.name = string(value)
		}
	case string(field) == "error": // llama.cpp sends this
		return r.refused(value)
	case line[0] == '{': // an error without event framing
		return r.add(line)
	case string(field) == "id", string(field) == "retry":
	case len(r.sample) < maxSample:
		r.sample = append(append(r.sample, line[:min(len(line), maxSample)]...), ' ')
	}
	return nil
}

// last handles the buffered data after the source has ended with err.
func (r *events) last(err error) error {
	switch {
	case len(r.data) > 0 && (string(r.data) == "[DONE]" || json.Valid(r.data) || isNoise(r.data)):
		if refused := r.dispatch(); refused != nil { // only the empty line after the event is missing
			return refused
		}
	case len(r.data) > 0 && err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	if err == io.EOF && !r.seen && len(r.sample) > 0 { // an empty response counts as cut off
		return fmt.Errorf("%w: %q", errNoEvents, r.sample)
	}
	return err
}

// add appends a line of data to the event. If the empty line between two events is
// missing, it dispatches the first event.
func (r *events) add(value []byte) error {
	if len(r.data) > 0 && (string(value) == "[DONE]" || json.Valid(r.data)) {
		if err := r.dispatch(); err != nil {
			return err
		}
	}
	if len(r.data)+len(value) > maxEvent {
		return endless("an event of more than %d MB came", maxEvent)
	}
	if len(r.data) > 0 {
		r.data = append(r.data, ' ')
	}
	r.data = append(r.data, value...)
	return nil
}

// dispatch converts the event in r.data. If it is an error event, dispatch returns its error.
func (r *events) dispatch() error {
	name, data := r.name, bytes.TrimSpace(r.data)
	r.name, r.data = "", r.data[:0]
	if len(data) == 0 {
		return nil
	}
	if isNoise(data) { // such as "ping", sent by some proxies to keep a connection open
		r.alarm.comment()
		r.sample = append(append(r.sample, data[:min(len(data), max(0, maxSample-len(r.sample)))]...), ' ')
		return nil
	}
	refusal := name == "error" || beginsWithError(data) ||
		(!r.seen || bytes.HasPrefix(data, []byte(`{"object"`)) && bytes.HasPrefix(bytes.TrimLeft(data[9:], ": "), []byte(`"error"`))) && api.OnlyRefusal(data)
	r.seen = true
	r.alarm.event()
	if refusal {
		return r.refused(data)
	}
	r.done = r.done || string(data) == "[DONE]"
	r.buf = append(r.buf[:0], dataField...)
	if bytes.HasPrefix(data, []byte(`{"error"`)) {
		r.buf, data = append(r.buf, '{', ' '), data[1:] // or the library takes an empty error for a real error
	}
	r.buf = append(append(r.buf, data...), '\n')
	r.event, r.out = name, r.buf
	return nil
}

// isNoise reports whether the data of an event is neither JSON nor the end of the stream.
func isNoise(data []byte) bool {
	switch data[0] {
	case '{':
		return false
	case '[':
		return string(data) != "[DONE]" && !json.Valid(data)
	}
	return true
}

// beginsWithError reports whether an event is an object whose first member is an error.
func beginsWithError(data []byte) bool {
	if !bytes.HasPrefix(data, []byte(`{"error"`)) {
		return false
	}
	var event struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(data, &event) != nil || api.IsError(event.Error)
}

// line returns the next line without its line ending: LF, CR, or both. It is valid until the next call.
func (r *events) line() ([]byte, error) {
	r.long = r.long[:0]
	for {
		if _, err := r.src.Peek(1); err != nil && (err != io.EOF || len(r.long) == 0) {
			return nil, err
		} else if err != nil {
			return r.whole(nil), nil
		}
		piece, _ := r.src.Peek(r.src.Buffered())
		if r.ended && piece[0] == '\n' { // the rest of the previous line ending
			piece = piece[:1]
		} else if at := bytes.IndexByte(piece, '\n'); at >= 0 {
			piece = piece[:at+1]
		}
		at := bytes.IndexByte(piece, '\r')
		if at >= 0 {
			piece = piece[:at+1]
		}
		if r.read += len(piece); r.read > maxStream {
			return nil, endless("more than %d MB came", maxStream)
		}
		_, _ = r.src.Discard(len(piece)) // it is buffered
		rest := r.ended && piece[0] == '\n'
		switch r.ended = at >= 0; {
		case rest:
		case r.ended || piece[len(piece)-1] == '\n':
			return r.whole(piece[:len(piece)-1]), nil
		default:
			if r.long = append(r.long, piece...); len(r.long) > maxEvent {
				return nil, endless("a line of more than %d MB came", maxEvent)
			}
		}
	}
}

// whole returns the complete line ending with piece.
func (r *events) whole(piece []byte) []byte {
	if len(r.long) > 0 {
		r.long = append(r.long, piece...)
		piece = r.long
	}
	if !r.started {
		r.started = true
		piece = bytes.TrimPrefix(piece, []byte("\xef\xbb\xbf"))
	}
	return piece
}

func endless(format string, bytes int) error {
	return &model.Error{Kind: model.ErrEndless, Message: fmt.Sprintf(format, bytes>>20)}
}

// waits reports whether a whole event is buffered, so Next returns without waiting for the
// endpoint. It may miss an event.
func (r *events) waits() bool {
	here, _ := r.src.Peek(r.src.Buffered()) // it is buffered
	here = bytes.TrimLeft(here, "\r\n")
	if name, rest, ok := bytes.Cut(here, []byte("\n")); ok && bytes.HasPrefix(name, []byte("event:")) {
		here = rest
	}
	data, ok := bytes.CutPrefix(here, []byte("data:"))
	if !ok || !bytes.HasPrefix(bytes.TrimLeft(data, " "), []byte("{")) { // Next skips other data
		return false
	}
	return bytes.Contains(here, []byte("\n\n")) || bytes.Contains(here, []byte("\r\n\r\n"))
}

// begins reports whether the body begins as an event stream. Some proxies call it JSON.
func (r *events) begins() bool {
	start, _ := r.src.Peek(6) // an error comes with the next read
	for _, field := range []string{"data:", "event:", ":", "id:", "retry:"} {
		if bytes.HasPrefix(start, []byte(field)) {
			return true
		}
	}
	return false
}

// wholeReply converts a response without streaming to an event. A body with a JSON value on
// each line stays unchanged. A list of events becomes these events: Gemini sends a list if a
// proxy drops alt=sse.
func wholeReply(body []byte) io.Reader {
	var b bytes.Buffer
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil {
		for _, one := range list {
			b.WriteString("data: ")
			_ = json.Compact(&b, one) // it is valid
			b.WriteString("\n\n")
		}
		return &b
	}
	b.WriteString("data: ")
	if line, rest, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n")); len(rest) > 0 && json.Valid(line) {
		return bytes.NewReader(body)
	}
	if json.Compact(&b, body) != nil {
		b.Reset()
		b.WriteString(strings.ReplaceAll(string(body), "\n", " "))
	}
	b.WriteString("\n\ndata: [DONE]\n\n")
	return &b
}
