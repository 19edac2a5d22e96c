package own

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of messages of a server.
const (
	largestMessage = 64 << 20 // bytes
	largestHeader  = 4 << 10  // bytes of all its lines
)

// stream reads and writes the messages of a server, each with a Content-Length header.
type stream struct {
	in   *bufio.Reader
	out  io.Writer       // does not wait
	fail func(why error) // is called if the output is no message of the protocol
}

func newStream(in io.Reader, out io.Writer, fail func(why error)) *stream {
	return &stream{in: bufio.NewReaderSize(in, 64<<10), out: out, fail: fail}
}

// WriteObject writes a message.
func (s *stream) WriteObject(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.out.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(data)), data...))
	return err
}

// ReadObject reads the next message. If it is no message of the protocol, the connection ends.
func (s *stream) ReadObject(v any) error {
	err := s.read(v)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) {
		s.fail(err)
	}
	return err
}

func (s *stream) read(v any) error {
	size, err := s.header()
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(s.in, int64(size)))
	if err != nil {
		return err
	}
	if len(data) < size {
		return io.ErrUnexpectedEOF
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("a message that is no JSON: %w", err)
	}
	return nil
}

// header reads the header of a message, and returns its length.
func (s *stream) header() (size int, err error) {
	size = -1
	for read := 0; ; {
		line, err := s.in.ReadSlice('\n')
		if read += len(line); read > largestHeader || errors.Is(err, bufio.ErrBufferFull) {
			return 0, errors.New("output that is no message of the protocol")
		}
		if err != nil {
			return 0, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return 0, errors.New("output that is no message of the protocol")
		}
		if strings.EqualFold(name, "Content-Length") {
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 {
				return 0, errors.New("a message without a valid length")
			}
		}
	}
	switch {
	case size < 0:
		return 0, errors.New("a message without a length")
	case size > largestMessage:
		return 0, fmt.Errorf("a message of %d bytes; the limit is %d", size, largestMessage)
	}
	return size, nil
}

// Close does nothing: the process owns the pipes.
func (*stream) Close() error { return nil }
