package servertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Frame is a message as received.
type Frame struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *RPCError       `json:"error,omitempty"`

	raw []byte
}

// RPCError is the error of an answer.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// conn is a client's end of a connection. It reads and writes frames with separate code, to check
// the server's.
type conn struct {
	lines bool // one message per line; otherwise LSP's headers
	in    io.Reader
	out   io.WriteCloser
	// request is called for each request of the server's, in order. It answers
	// now, or later through reply, or never.
	request func(Frame)
	// note is called for each notification.
	note func(Frame)
	done chan struct{} // closed when the server has closed its output

	writeMu sync.Mutex
	mu      sync.Mutex
	next    int
	calls   map[string]chan Frame
	frames  []Frame // all received frames
	arrived chan struct{}
	bad     error // the error of an invalid frame
}

func (c *conn) start() {
	c.calls, c.arrived, c.done = map[string]chan Frame{}, make(chan struct{}), make(chan struct{})
	go c.read()
}

func (c *conn) read() {
	defer close(c.done)
	in := bufio.NewReader(c.in)
	for {
		body, err := c.frame(in)
		if err != nil {
			if err != io.EOF && err != io.ErrClosedPipe {
				c.fail(err)
			}
			return
		}
		f := Frame{raw: body}
		if err := json.Unmarshal(body, &f); err != nil {
			c.fail(fmt.Errorf("the server sent %q: %w", body, err))
			return
		}
		c.take(f)
	}
}

func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bad = err
}

// frame reads a message strictly: anything else on the server's output fails.
func (c *conn) frame(in *bufio.Reader) ([]byte, error) {
	if c.lines {
		line, err := in.ReadBytes('\n')
		return bytes.TrimSuffix(line, []byte("\n")), err
	}
	header, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(header, "Content-Length: "), "\r\n"))
	if err != nil {
		return nil, fmt.Errorf("the server sent the header %q", header)
	}
	if blank, err := in.ReadString('\n'); err != nil || blank != "\r\n" {
		return nil, fmt.Errorf("the server sent %q after the header", blank)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(in, body)
	return body, err
}

func (c *conn) take(f Frame) {
	c.mu.Lock()
	c.frames = append(c.frames, f)
	close(c.arrived)
	c.arrived = make(chan struct{})
	var waiting chan Frame
	if f.Method == "" {
		waiting = c.calls[string(f.ID)]
		delete(c.calls, string(f.ID))
	}
	c.mu.Unlock()
	switch {
	case waiting != nil:
		waiting <- f
	case f.Method == "":
	case f.ID != nil:
		c.request(f)
	default:
		c.note(f)
	}
}

// seen returns the frames so far.
func (c *conn) seen() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Frame(nil), c.frames...)
}

// send writes a message as it is.
func (c *conn) send(message []byte) error {
	if c.lines {
		return c.raw(append(bytes.Clone(message), '\n'))
	}
	return c.raw(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(message)), message...))
}

// raw writes bytes, whatever they are.
func (c *conn) raw(b []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_, err := c.out.Write(b)
	return err
}

type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *RPCError       `json:"error,omitempty"`
}

func (c *conn) notify(method string, params any) error {
	return c.encode(message{Method: method, Params: params})
}

// reply answers a request of the server's.
func (c *conn) reply(id json.RawMessage, result any, failure *RPCError) error {
	if result == nil && failure == nil {
		result = json.RawMessage("null")
	}
	return c.encode(message{ID: id, Result: result, Error: failure})
}

func (c *conn) encode(m message) error {
	m.Version = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.send(body)
}

// call sends a request. The answer comes on the channel.
func (c *conn) call(method string, params any) (id json.RawMessage, answer <-chan Frame, err error) {
	c.mu.Lock()
	c.next++
	id = json.RawMessage(strconv.Itoa(c.next))
	ch := make(chan Frame, 1)
	c.calls[string(id)] = ch
	c.mu.Unlock()
	return id, ch, c.encode(message{ID: id, Method: method, Params: params})
}
