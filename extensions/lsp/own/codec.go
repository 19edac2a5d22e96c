package own

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Limits of messages of a server.
const (
	largestMessage = 64 << 20 // bytes
	largestHeader  = 4 << 10  // bytes of all its lines
)

// mostQueued is how many bytes wait for a server that does not read. Then its connection ends.
const mostQueued = 128 << 20

// stream has the messages of a server, each with a Content-Length header. Messages to the server
// wait in a queue, so that one that does not read keeps no call waiting.
type stream struct {
	in  *bufio.Reader
	out io.WriteCloser

	mu     sync.Mutex
	more   *sync.Cond // there are messages in the queue, or it is closed
	queue  [][]byte
	size   int // of the queue, in bytes
	closed bool
	broken error // why its output is no message of the protocol; nil: it is
}

// newStream returns the stream of a server's pipes. Its goroutine ends when the stream is closed or
// cannot write.
func newStream(in io.Reader, out io.WriteCloser) *stream {
	s := &stream{in: bufio.NewReaderSize(in, 64<<10), out: out}
	s.more = sync.NewCond(&s.mu)
	go s.write()
	return s
}

// write writes the messages of the queue.
func (s *stream) write() {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.more.Wait()
		}
		if s.closed {
			s.mu.Unlock()
			return
		}
		data := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		_, err := s.out.Write(data)
		s.mu.Lock()
		s.size -= len(data)
		s.closed = s.closed || err != nil
		s.mu.Unlock()
	}
}

// WriteObject puts a message into the queue.
func (s *stream) WriteObject(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	data = append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(data)), data...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return io.ErrClosedPipe
	}
	if s.size+len(data) > mostQueued {
		s.closed, s.broken = true, errors.New("the server does not read its input")
		s.more.Signal()
		s.out.Close() //nolint:errcheck // it is of no more use
		return s.broken
	}
	s.size += len(data)
	s.queue = append(s.queue, data)
	s.more.Signal()
	return nil
}

// ReadObject reads the next message. If it is not one of the protocol, the connection ends.
func (s *stream) ReadObject(v any) error {
	err := s.read(v)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.broken = err
	}
	return err
}

// fault returns why the output of the server is no message of the protocol. If it is, fault returns nil.
func (s *stream) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken
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

// Close closes the input of the server.
func (s *stream) Close() error {
	s.mu.Lock()
	s.closed = true
	s.more.Signal()
	s.mu.Unlock()
	return s.out.Close()
}
