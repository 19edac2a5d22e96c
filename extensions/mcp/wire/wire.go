// Package wire reads the messages of servers before the SDK does. It limits their length, and finds
// fields not decoded by the SDK.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Dropped holds parts of a connection's messages that the SDK drops: the names of task-only tools,
// which hermes-ls does not offer, and forms.
type Dropped struct {
	Forms *Forms // of the server; may be nil

	mu       sync.Mutex
	required map[string]bool
	cut      bool // since the last call of Cut, a message was too long
	faults   []string
	waiting  waiting
}

// Cut reports whether a message was too long since the last call of it.
func (d *Dropped) Cut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.cut
	d.cut = false
	return was
}

// tooLong returns the error for an overlong message.
func (d *Dropped) tooLong() error {
	if d != nil {
		d.mu.Lock()
		d.cut = true
		d.mu.Unlock()
	}
	return fmt.Errorf("a message of more than %d bytes", LongestMessage)
}

// read records the tools and the form in a message.
func (d *Dropped) read(message []byte) {
	d.Forms.read(message)
	if !bytes.Contains(message, []byte(`"taskSupport"`)) {
		return
	}
	var m struct {
		Result struct {
			Tools []struct {
				Name      string
				Execution struct{ TaskSupport string }
			}
		}
	}
	if json.Unmarshal(message, &m) != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.required == nil {
		d.required = map[string]bool{}
	}
	for _, tool := range m.Result.Tools {
		d.required[tool.Name] = tool.Execution.TaskSupport == "required"
	}
}

// NeedsTask reports whether a tool runs only as a task.
func (d *Dropped) NeedsTask(tool string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.required[tool]
}

// Watch makes d read the messages of a response. In the response to the POST of a request, a
// message without an id gets the request's id.
func (d *Dropped) Watch(resp *http.Response) {
	events := strings.Contains(resp.Header.Get("Content-Type"), "event-stream")
	resp.Body = &readMessages{ReadCloser: resp.Body, dropped: d, events: events, of: requestOf(resp.Request)}
}

// requestOf returns the id of the request in the body of a POST. If there is none, it returns nil.
func requestOf(req *http.Request) json.RawMessage {
	if req == nil || req.Method != http.MethodPost || req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.NewDecoder(body).Decode(&m) != nil || m.Method == "" || !present(m.ID) {
		return nil
	}
	return m.ID
}

// readMessages passes a body on, with its messages mended: the events of a stream, or the whole
// body. If a message is longer than LongestMessage, the body ends with an error, because the SDK
// would keep all of it in memory.
type readMessages struct {
	io.ReadCloser
	dropped *Dropped
	events  bool
	of      json.RawMessage // the id of the request answered by the body; nil: unknown
	line    []byte          // the current line of an event stream
	event   []byte          // the whole lines of the event, or the body
	out     []byte          // not read yet
	err     error           // the end of the body
	buf     []byte

	carriage bool // the last line ended with a carriage return
}

func (r *readMessages) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.buf == nil {
			r.buf = make([]byte, 32<<10)
		}
		n, err := r.ReadCloser.Read(r.buf)
		r.add(r.buf[:n])
		if len(r.event)+len(r.line) > LongestMessage {
			err = r.dropped.tooLong()
		} else if err != nil {
			r.end()
		}
		r.err = err
	}
	n := copy(p, r.out)
	if r.out = r.out[n:]; len(r.out) == 0 {
		r.out = nil
	}
	return n, nil
}

func (r *readMessages) add(p []byte) {
	if !r.events {
		r.event = append(r.event, p...)
		return
	}
	for len(p) > 0 {
		if r.carriage && p[0] == '\n' { // the second half of a line ending
			r.carriage, p = false, p[1:]
			continue
		}
		at := bytes.IndexAny(p, "\r\n")
		if at < 0 {
			r.line, r.carriage = append(r.line, p...), false
			return
		}
		r.line, r.carriage = append(r.line, p[:at]...), p[at] == '\r'
		if len(r.event)+len(r.line) > LongestMessage {
			return
		}
		r.endLine()
		p = p[at+1:]
	}
}

// endLine handles a whole line of an event stream.
func (r *readMessages) endLine() {
	switch line := r.line; {
	case len(line) == 0:
		r.endEvent()
		r.out = append(r.out, '\n')
	case line[0] == ':':
		r.out = append(append(r.out, line...), '\n') // a comment
	case bytes.IndexByte(line, ':') < 0: // a field without a value, which the SDK does not accept
	default:
		r.event = append(append(r.event, line...), '\n')
	}
	r.line = r.line[:0]
}

// endEvent passes an event on. A message's data is joined in one line.
func (r *readMessages) endEvent() {
	var data, others []byte
	for line := range bytes.Lines(r.event) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimSpace(value)...), ' ')
		} else {
			others = append(others, line...)
		}
	}
	data = bytes.TrimSpace(data)
	switch messages := r.dropped.messages(data, r.of); {
	case len(data) == 0:
		r.out = append(r.out, others...)
	case data[0] != '{' && data[0] != '[': // such as the address of the older transport
		r.out = append(r.out, r.event...)
	default:
		for i, m := range messages {
			if i > 0 {
				r.out = append(r.out, '\n')
			}
			r.out = append(append(append(r.out, others...), "data: "...), m...)
			r.out = append(r.out, '\n')
		}
		if len(messages) == 0 {
			r.out = append(r.out, others...)
		}
	}
	r.event = shrunk(r.event)
}

// end handles the end of the body.
func (r *readMessages) end() {
	if r.events {
		if len(r.line) > 0 {
			r.endLine()
		}
		r.endEvent()
		return
	}
	text := bytes.TrimSpace(r.event)
	messages := r.dropped.messages(text, r.of)
	switch {
	case len(messages) == 0:
		r.out = r.event
	case len(text) > 0 && text[0] == '[': // the SDK reads a single message of a body: the answer
		r.out = messages[len(messages)-1]
		for _, m := range messages {
			if !bytes.Contains(m, []byte(`"method"`)) {
				r.out = m
				break
			}
		}
	default:
		r.out = messages[0]
	}
	r.event = nil
}

// messages returns the messages in a text, mended, after it has recorded their forms and tasks.
func (d *Dropped) messages(text []byte, of json.RawMessage) [][]byte {
	all := d.mendAll(text, of)
	for _, m := range all {
		d.read(m)
	}
	return all
}

// shrunk returns an empty buffer. It keeps the memory of a small buffer.
func shrunk(buf []byte) []byte {
	if cap(buf) > 64<<10 {
		return nil
	}
	return buf[:0]
}

// LongestMessage limits a message. The SDK accepts none longer.
const LongestMessage = sdk.DefaultMaxLineLength

// Messages passes on messages, mended for the SDK. Other lines, such as a greeting, would end the
// connection. They go to the other writer. A message may extend over several lines.
type Messages struct {
	To      io.Writer
	Other   io.Writer
	Dropped *Dropped        // reads the messages
	TooLong func(err error) // is called if a message is too long; may be nil
	line    []byte
	open    []byte // the lines of an incomplete message
	depth   depth  // of open
}

func (m *Messages) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte{'\n'})
		m.line = append(m.line, piece...)
		if len(m.line)+len(m.open) > LongestMessage {
			err := m.Dropped.tooLong()
			if m.TooLong != nil {
				m.TooLong(err)
			}
			return 0, err
		}
		if whole {
			if err := m.pass(); err != nil {
				return 0, err
			}
		}
		p = rest
	}
	return n, nil
}

// pass handles a whole line.
func (m *Messages) pass() error {
	m.line = append(m.line, '\n')
	defer func() { m.line = shrunk(m.line) }()
	line := bytes.Trim(m.line, " \t\r\n") // the white space allowed by JSON around a value
	if len(line) == 0 && len(m.open) == 0 {
		return m.other(m.line)
	}
	if len(m.open) > 0 && !m.fresh(line) {
		return m.goOn()
	}
	if err := m.giveUp(); err != nil {
		return err
	}
	if all := m.Dropped.messages(line, nil); len(all) > 0 {
		return m.send(all)
	}
	if len(line) > 0 && line[0] == '{' && !json.Valid(line) {
		return m.goOn()
	}
	return m.other(m.line)
}

// fresh reports whether a line is a new message, not a part of an incomplete one.
func (m *Messages) fresh(line []byte) bool {
	return len(line) > 0 && line[0] == '{' && json.Valid(line) && (len(m.depth.open) < 2 || bytes.Contains(line, []byte(`"jsonrpc"`)))
}

// goOn adds the line to an incomplete message.
func (m *Messages) goOn() error {
	if len(m.open) == 0 {
		m.depth = depth{}
	}
	m.open = append(m.open, m.line...)
	m.depth.add(m.line)
	switch {
	case m.depth.broken:
		return m.giveUp()
	case !m.depth.closed():
		return nil
	}
	if all := m.Dropped.messages(m.open, nil); len(all) > 0 {
		m.open = shrunk(m.open)
		return m.send(all)
	}
	return m.giveUp()
}

// giveUp handles lines that form no message. If they are an unreadable response, its request gets
// an error.
func (m *Messages) giveUp() error {
	if len(m.open) == 0 {
		return nil
	}
	lines := m.open
	m.open = shrunk(m.open)
	if err := m.other(lines); err != nil {
		return err
	}
	if answer := garbled(lines); answer != nil {
		return m.send([][]byte{answer})
	}
	return nil
}

func (m *Messages) send(all [][]byte) error {
	for _, one := range all {
		if _, err := m.To.Write(append(slices.Clip(one), '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (m *Messages) other(lines []byte) error {
	_, err := m.Other.Write(lines)
	return err
}

// depth counts the brackets of a JSON text, line by line.
type depth struct {
	open   []byte // the open brackets
	text   bool   // in a string
	escape bool
	broken bool // it is no JSON
}

func (d *depth) add(line []byte) {
	for _, c := range line {
		switch {
		case d.escape:
			d.escape = false
		case d.text:
			d.escape, d.text = c == '\\', c != '"'
			d.broken = d.broken || c == '\n'
		case c == '"':
			d.text = true
		case c == '{' || c == '[':
			d.open = append(d.open, c)
		case c == '}' || c == ']':
			if last := len(d.open) - 1; last < 0 || (d.open[last] == '{') != (c == '}') {
				d.broken = true
			} else {
				d.open = d.open[:last]
			}
		}
	}
}

func (d *depth) closed() bool { return len(d.open) == 0 && !d.text }
