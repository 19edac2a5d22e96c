package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxLine is the longest message of a [LineStream], in bytes.
const MaxLine = 32 << 20

// Codes of a stream's own errors.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeInternal       = -32603
)

// LineFraming ends a message with a newline. The message must contain no newline, which is true for
// the output of encoding/json.
func LineFraming(dst, message []byte) []byte {
	return append(append(dst, message...), '\n')
}

// LineStream reads a JSON message per line. It is an ObjectStream for sourcegraph/jsonrpc2 that
// continues after bad input: it answers an invalid line with an error and reads the next line.
//
// The library decodes a request's parameters four times, and its ids cannot be negative. So it gets
// the bare request. Parameters and id come unchanged from [LineStream.Request].
type LineStream struct {
	in     *bufio.Reader
	out    *Writer
	most   int // bytes of a line
	id     json.RawMessage
	params json.RawMessage
}

// NewLineStream reads lines from in and sends messages through out. Both stay the
// caller's to close.
func NewLineStream(in io.Reader, out *Writer) *LineStream {
	return &LineStream{in: bufio.NewReaderSize(in, 64<<10), out: out, most: MaxLine}
}

// Request returns the id and the parameters of the last request, unchanged; nil: it had none. They
// stay valid.
func (s *LineStream) Request() (id, params json.RawMessage) { return s.id, s.params }

// WriteObject queues a message.
func (s *LineStream) WriteObject(v any) error {
	m, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	return s.out.Send(m)
}

// Close does nothing: the reader and the writer belong to the caller.
func (s *LineStream) Close() error { return nil }

// ReadObject reads the next message into v, a [json.Unmarshaler]. The error is
// io.EOF when the input is over.
func (s *LineStream) ReadObject(v any) error {
	for {
		line, err := s.line()
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if m := s.message(line); m != nil && s.accept(v.(json.Unmarshaler), m) {
			return nil
		}
	}
}

// line reads a line without its end. If it is too long, line returns an error at once and skips the
// rest. A line longer than the reader's buffer is kept in pieces until its end. So a huge line
// needs no more memory than its limit.
func (s *LineStream) line() ([]byte, error) {
	var pieces [][]byte
	size := 0
	for {
		part, err := s.in.ReadSlice('\n')
		size += len(part)
		switch {
		case size > s.most:
			s.refuse(idIn(append(pieces, part)[0]), codeInvalidRequest, "a message of more than %d bytes; it was skipped", s.most)
			return nil, s.skip(err)
		case errors.Is(err, bufio.ErrBufferFull):
			pieces = append(pieces, bytes.Clone(part))
		case err != nil && !errors.Is(err, io.EOF), err != nil && size == 0:
			return nil, endOfLines(err)
		case pieces == nil: // whole; at the end of the input perhaps without its newline
			return part, nil
		default:
			return bytes.Join(append(pieces, part), nil), nil
		}
	}
}

// skip reads on to the end of the line whose last read gave err.
func (s *LineStream) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = s.in.ReadSlice('\n')
	}
	return endOfLines(err)
}

func endOfLines(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("reading a message: %w", err)
}

type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// message parses a line; nil: it was no object and has been answered.
func (s *LineStream) message(line []byte) *envelope {
	var m envelope
	err := json.Unmarshal(line, &m)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		s.refuse(nil, codeParse, "the message is not valid JSON: %v at byte %d", err, syntax.Offset)
		return nil
	case line[0] == '[':
		s.refuse(nil, codeInvalidRequest, "batches are not part of the protocol: send one message a line")
		return nil
	case err != nil:
		s.refuse(nil, codeInvalidRequest, "a message is one JSON object a line")
		return nil
	}
	return &m
}

// accept gives a message to the library; false: it was none and has been answered.
func (s *LineStream) accept(v json.Unmarshaler, m *envelope) bool {
	if m.Method == nil {
		return s.acceptResponse(v, m)
	}
	var method string
	if json.Unmarshal(m.Method, &method) != nil || isNull(m.Method) {
		s.refuse(m.ID, codeInvalidRequest, `"method" must be a string`)
		return false
	}
	if !isNull(m.ID) && !isID(m.ID) {
		s.refuse(nil, codeInvalidRequest, `"id" must be an integer or a string`)
		return false
	}
	s.id, s.params = m.ID, m.Params
	if isNull(m.ID) {
		s.id = nil
	}
	bare := append([]byte(`{"method":`), m.Method...)
	if s.id != nil {
		bare = append(append(bare, `,"id":`...), s.id...)
	}
	return v.UnmarshalJSON(append(bare, '}')) == nil
}

// acceptResponse forwards a response. If the library cannot decode it, the waiting caller gets an
// error.
func (s *LineStream) acceptResponse(v json.Unmarshaler, m *envelope) bool {
	if m.Result == nil && m.Error == nil {
		s.refuse(m.ID, codeInvalidRequest, `a message needs "method", "result" or "error"`)
		return false
	}
	if !isID(m.ID) || m.ID[0] == '-' {
		return false // answers none of our requests
	}
	bare := append([]byte(`{"id":`), m.ID...)
	if m.Error != nil && !isNull(m.Error) {
		if v.UnmarshalJSON(append(append(append(bare, `,"error":`...), m.Error...), '}')) == nil {
			return true
		}
		why, _ := json.Marshal("an error that is none: " + clipLine(m.Error))
		bare = fmt.Appendf(nil, `{"id":%s,"error":{"code":%d,"message":%s}}`, m.ID, codeInternal, why)
		return v.UnmarshalJSON(bare) == nil
	}
	if m.Result == nil {
		m.Result = json.RawMessage("null")
	}
	return v.UnmarshalJSON(append(append(append(bare, `,"result":`...), m.Result...), '}')) == nil
}

// refuse answers an invalid line with an error.
func (s *LineStream) refuse(id json.RawMessage, code int, format string, a ...any) {
	if !isID(id) {
		id = nil
	}
	// The next send notices a closed writer.
	_ = s.out.Send(AppendError(nil, id, code, fmt.Sprintf(format, a...), nil))
}

// AppendResult appends a response; result is JSON.
func AppendResult(dst []byte, id, result json.RawMessage) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), orNull(id)...)
	return append(append(append(dst, `,"result":`...), orNull(result)...), '}')
}

// AppendError appends an error response; data is JSON or nil.
func AppendError(dst []byte, id json.RawMessage, code int, message string, data json.RawMessage) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err) // a string always marshals
	}
	dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), orNull(id)...)
	dst = fmt.Appendf(dst, `,"error":{"code":%d,"message":%s`, code, text)
	if data != nil {
		dst = append(append(dst, `,"data":`...), data...)
	}
	return append(dst, `}}`...)
}

func orNull(m json.RawMessage) json.RawMessage {
	if m == nil {
		return json.RawMessage("null")
	}
	return m
}

func isNull(m json.RawMessage) bool { return m == nil || string(m) == "null" }

// isID reports whether m is an integer or a string.
func isID(m json.RawMessage) bool {
	if len(m) == 0 {
		return false
	}
	if m[0] == '"' {
		return true
	}
	var n int64
	return !isNull(m) && json.Unmarshal(m, &n) == nil
}

// idIn finds the id in the beginning of a message that is not read to its end. If it is not there,
// idIn returns nil.
func idIn(beginning []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(beginning[:min(len(beginning), 4<<10)]))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
		if key == "id" {
			return value
		}
	}
	return nil
}

func clipLine(b []byte) string {
	const most = 100
	if len(b) > most {
		b = b[:most]
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
