// Package wire reads the messages of servers before the SDK does. It limits their length, and finds fields that the SDK does not decode.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Dropped holds parts of a connection's messages that the SDK does not keep: which tools run only
// as tasks, which hermes-ls does not offer, and forms.
type Dropped struct {
	Forms *Forms // of the server; may be nil

	mu       sync.Mutex
	required map[string]bool
	cut      bool // since the last call of Cut, a message was too long
}

// Cut reports whether a message was too long since the last call of it.
func (d *Dropped) Cut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.cut
	d.cut = false
	return was
}

// tooLong returns the error of a message that is too long.
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

// Watch makes t read the messages of a response.
func (d *Dropped) Watch(resp *http.Response) {
	events := strings.Contains(resp.Header.Get("Content-Type"), "event-stream")
	resp.Body = &readMessages{ReadCloser: resp.Body, dropped: d, events: events}
}

// readMessages passes a body on and reads its messages: the lines of an event stream, or
// the whole body. If a message is longer than LongestMessage, the body ends with an error,
// because the SDK would keep all of it in memory.
type readMessages struct {
	io.ReadCloser
	dropped *Dropped
	events  bool
	size    int    // of the event or the body so far
	line    int    // of the line or the body so far
	text    []byte // of the line or the body so far; its beginning if it has no list of tools and no form
	begun   bool   // the beginning was searched for them
	short   bool   // and there is none
}

// beginning is the part of a message in which a list of tools or a form is searched. Other messages are not kept: a result can be large.
const beginning = 64 << 10

func (r *readMessages) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.add(p[:n])
	if r.size > LongestMessage {
		return 0, r.dropped.tooLong()
	}
	if err != nil {
		r.flush()
	}
	return n, err
}

func (r *readMessages) add(p []byte) {
	for len(p) > 0 {
		piece, rest, whole := p, []byte(nil), false
		if r.events {
			piece, rest, whole = bytes.Cut(p, []byte{'\n'})
		}
		if r.size += len(piece); r.size > LongestMessage {
			return
		}
		r.line += len(piece)
		r.keep(piece)
		if whole {
			switch line := bytes.TrimRight(r.text, "\r"); {
			case len(line) == 0:
				r.size = 0 // the end of an event
			case line[0] == ':':
				r.size -= r.line // a comment
			}
			r.flush()
		}
		p = rest
	}
}

func (r *readMessages) keep(piece []byte) {
	if r.short {
		return
	}
	if r.text = append(r.text, piece...); !r.begun && len(r.text) > beginning {
		r.begun, r.short = true, !bytes.Contains(r.text, []byte(`"tools"`)) && !bytes.Contains(r.text, []byte(elicits))
	}
}

func (r *readMessages) flush() {
	if !r.short {
		r.dropped.read(bytes.TrimPrefix(r.text, []byte("data:")))
	}
	r.text, r.line, r.begun, r.short = r.text[:0], 0, false, false
}

// LongestMessage limits a message. The SDK accepts no longer ones.
const LongestMessage = sdk.DefaultMaxLineLength

// Messages passes on lines that are JSON. Other lines, such as a greeting, would end the
// connection. They go to the other writer.
type Messages struct {
	To      io.Writer
	Other   io.Writer
	Dropped *Dropped        // reads the messages; may be nil
	TooLong func(err error) // is called if a message is too long; may be nil
	line    []byte
}

func (m *Messages) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte{'\n'})
		m.line = append(m.line, piece...)
		if len(m.line) > LongestMessage {
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

func (m *Messages) pass() error {
	line := bytes.Trim(m.line, " \t\r") // the white space that JSON allows around a value
	m.line = append(m.line, '\n')
	defer func() { m.line = m.line[:0] }()
	to := m.To
	if len(line) == 0 || line[0] != '{' && line[0] != '[' || !json.Valid(line) {
		to = m.Other
	} else if m.Dropped != nil {
		m.Dropped.read(line)
	}
	_, err := to.Write(m.line)
	return err
}
