package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/jsonrpc2"
)

// Limits of an LSP frame.
const (
	MaxHeader = 4 << 10  // bytes of header, or of noise before it
	MaxBody   = 64 << 20 // bytes of body
)

const (
	readChunk = 1 << 20 // a body is trusted this much at a time
	keepBody  = 1 << 20 // a larger buffer is not kept for the next frame
)

// HeaderStream is LSP's framing: "Content-Length: N", a blank line, N bytes of JSON. It is a
// [jsonrpc2.Stream] that continues after bad input: it answers an invalid frame with an error and
// reads the next frame. Only a header without a valid length ends the stream.
type HeaderStream struct {
	in   *bufio.Reader
	out  *Writer
	body []byte // reused; a message from Read borrows it
	text []byte // reused for header lines
}

// NewHeaderStream reads frames from in and sends messages through out, which
// frames them with [HeaderFraming]. Closing both is the caller's.
func NewHeaderStream(in io.Reader, out *Writer) *HeaderStream {
	return &HeaderStream{in: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Read returns the next message. It is valid until the next Read. The error is
// io.EOF when there is nothing more to read, wherever the input stopped.
func (s *HeaderStream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		body, err := s.frame()
		if err != nil {
			return nil, 0, err
		}
		if body == nil { // answered and skipped
			continue
		}
		if msg := s.decode(body); msg != nil {
			return msg, int64(len(body)), nil
		}
	}
}

// Write queues a message.
func (s *HeaderStream) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	body := jsonrpc2.AppendMessage(nil, msg)
	if err := s.out.Send(body); err != nil {
		return 0, fmt.Errorf("sending a message: %w", err)
	}
	return int64(len(body)), nil
}

// Close does nothing: the reader and the writer belong to the caller.
func (s *HeaderStream) Close() error { return nil }

// HeaderFraming is the [Framing] of LSP.
func HeaderFraming(dst, message []byte) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(message)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, message...)
}

// frame reads a frame's body. If the frame was refused and skipped, it returns nil.
func (s *HeaderStream) frame() ([]byte, error) {
	length, err := s.header()
	if err != nil {
		return nil, err
	}
	if length > MaxBody {
		s.refuse(jsonrpc2.InvalidRequest, "a message of %d bytes is over the limit of %d MB; it was skipped", length, MaxBody>>20)
		if _, err := io.CopyN(io.Discard, s.in, length); err != nil {
			return nil, endOf(err)
		}
		return nil, nil
	}
	return s.readBody(int(length))
}

// header reads up to the blank line and returns the length of the body. It skips lines that are no
// header, such as a stray print, and reports them once.
func (s *HeaderStream) header() (int64, error) {
	length, seen, noise := int64(-1), 0, ""
	for {
		text, err := s.line(MaxHeader - seen)
		if errors.Is(err, errLongHeader) {
			s.refuse(jsonrpc2.ParseError, "no Content-Length header within %d bytes; the connection is closed", MaxHeader)
		}
		if err != nil {
			return 0, err
		}
		seen += len(text) + 1
		if text == "" {
			if length >= 0 {
				s.reportNoise(noise)
				return length, nil
			}
			continue
		}
		name, value, _ := strings.Cut(text, ":")
		switch {
		case strings.EqualFold(strings.TrimSpace(name), "Content-Length"):
			if length, err = parseLength(value); err != nil {
				s.refuse(jsonrpc2.ParseError, "%v; the connection is closed", err)
				return 0, fmt.Errorf("reading a header: %w", err)
			}
		case !strings.EqualFold(strings.TrimSpace(name), "Content-Type") && noise == "":
			noise = text
		}
	}
}

var errLongHeader = errors.New("reading a header: no Content-Length within its limit")

// line reads a line of at most limit bytes, without its end.
func (s *HeaderStream) line(limit int) (string, error) {
	text := s.text[:0]
	for {
		b, err := s.in.ReadByte()
		if err != nil {
			return "", endOf(err)
		}
		if b == '\n' {
			s.text = text
			return strings.TrimRight(string(text), "\r "), nil
		}
		if text = append(text, b); len(text) > limit {
			return "", errLongHeader
		}
	}
}

func parseLength(value string) (int64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 62)
	if err != nil {
		return 0, fmt.Errorf("Content-Length %q is not a length", clip(strings.TrimSpace(value)))
	}
	return int64(n), nil
}

// reportNoise answers anything but headers with an error. It ignores well-formed unknown headers.
func (s *HeaderStream) reportNoise(line string) {
	if line == "" || isHeader(line) {
		return
	}
	s.refuse(jsonrpc2.ParseError, "not a header: %q; a message is Content-Length: N, a blank line, N bytes of JSON", clip(line))
}

func isHeader(line string) bool {
	name, _, found := strings.Cut(line, ":")
	if !found || name == "" {
		return false
	}
	for _, r := range name {
		if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return true
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// readBody reads n bytes, taking memory only as they come.
func (s *HeaderStream) readBody(n int) ([]byte, error) {
	if cap(s.body) > keepBody {
		s.body = nil
	}
	buf := s.body[:0]
	for len(buf) < n {
		step := min(n-len(buf), readChunk)
		start := len(buf)
		buf = append(buf, make([]byte, step)...)
		if _, err := io.ReadFull(s.in, buf[start:]); err != nil {
			return nil, endOf(err)
		}
	}
	s.body = buf
	if n == 0 {
		s.refuse(jsonrpc2.ParseError, "a message of 0 bytes")
		return nil, nil
	}
	return buf, nil
}

// decode turns a body into a message; nil when it was none and has been answered.
func (s *HeaderStream) decode(body []byte) jsonrpc2.Message {
	if !utf8.Valid(body) {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	if !json.Valid(body) {
		s.refuse(jsonrpc2.ParseError, "the message is not valid JSON: %s", whyInvalid(body))
		return nil
	}
	msg, err := jsonrpc2.DecodeMessage(body)
	if err == nil {
		return msg
	}
	return s.malformed(body)
}

// malformed handles valid JSON that is no message. A response without a result is accepted, because
// some clients omit null. Other responses are ignored, because a response is never answered.
func (s *HeaderStream) malformed(body []byte) jsonrpc2.Message {
	if body = bytes.TrimSpace(body); body[0] != '{' {
		s.refuse(jsonrpc2.InvalidRequest, "a message is one JSON object; batches are not part of LSP")
		return nil
	}
	var m struct {
		Method json.RawMessage `json:"method"`
		ID     json.RawMessage `json:"id"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		s.refuse(jsonrpc2.InvalidRequest, "the message is not a request: %v", err)
		return nil
	}
	id := messageID(m.ID)
	if m.Method == nil {
		if !id.IsValid() {
			s.refuse(jsonrpc2.InvalidRequest, `the message has neither a "method" nor an "id"`)
			return nil
		}
		if m.Error != nil {
			return jsonrpc2.NewResponse(id, nil, jsonrpc2.NewError(jsonrpc2.UnknownError, clip(string(m.Error))))
		}
		return jsonrpc2.NewResponse(id, nil, nil)
	}
	s.answer(id, jsonrpc2.InvalidRequest, `a request needs "jsonrpc": "2.0", "method" as a string, and "id" as a string or an integer`)
	return nil
}

func messageID(raw json.RawMessage) jsonrpc2.ID {
	var n int64
	if json.Unmarshal(raw, &n) == nil && string(raw) != "null" {
		return jsonrpc2.NewNumberID(n)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return jsonrpc2.NewStringID(text)
	}
	return jsonrpc2.ID{}
}

func whyInvalid(body []byte) string {
	var v any
	err := json.Unmarshal(body, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("%v at byte %d", err, syntax.Offset)
	}
	return fmt.Sprint(err)
}

// refuse answers a frame without a request with an error.
func (s *HeaderStream) refuse(code jsonrpc2.Code, format string, args ...any) {
	s.answer(jsonrpc2.ID{}, code, format, args...)
}

func (s *HeaderStream) answer(id jsonrpc2.ID, code jsonrpc2.Code, format string, args ...any) {
	err := jsonrpc2.Errorf(code, format, args...)
	// The next read notices a closed writer.
	_ = s.out.Send(jsonrpc2.AppendResponse(nil, id, nil, err))
}

// endOf reports the end of the input. Within a frame, there is nothing to recover.
func endOf(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("reading a message: %w", err)
}
