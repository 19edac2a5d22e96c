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

// Tasks records which tools of a server run only as tasks. hermes-ls does not offer them.
// The SDK does not decode this field, so read decodes it from the messages.
type Tasks struct {
	mu       sync.Mutex
	required map[string]bool
	cut      bool // since the last call of Cut, a message was too long
}

// Cut reports whether a message was too long since the last call of it.
func (t *Tasks) Cut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.cut
	t.cut = false
	return was
}

// tooLong returns the error of a message that is too long.
func (t *Tasks) tooLong() error {
	if t != nil {
		t.mu.Lock()
		t.cut = true
		t.mu.Unlock()
	}
	return fmt.Errorf("a message of more than %d bytes", LongestMessage)
}

// read records the tools in a message.
func (t *Tasks) read(message []byte) {
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.required == nil {
		t.required = map[string]bool{}
	}
	for _, tool := range m.Result.Tools {
		t.required[tool.Name] = tool.Execution.TaskSupport == "required"
	}
}

// NeedsTask reports whether a tool runs only as a task.
func (t *Tasks) NeedsTask(tool string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.required[tool]
}

// Watch makes t read the messages of a response.
func (t *Tasks) Watch(resp *http.Response) {
	events := strings.Contains(resp.Header.Get("Content-Type"), "event-stream")
	resp.Body = &readMessages{ReadCloser: resp.Body, tasks: t, events: events}
}

// readMessages passes a body on and reads its messages: the lines of an event stream, or
// the whole body. If a message is longer than LongestMessage, the body ends with an error,
// because the SDK would keep all of it in memory.
type readMessages struct {
	io.ReadCloser
	tasks  *Tasks
	events bool
	size   int    // of the event or the body so far
	line   int    // of the line or the body so far
	text   []byte // of the line or the body so far; its beginning if it has no list of tools
	begun  bool   // the beginning was searched for a list of tools
	short  bool   // and there is none
}

// beginning is the part of a message in which a list of tools is searched. Other messages are not kept: a result can be large.
const beginning = 64 << 10

func (r *readMessages) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.add(p[:n])
	if r.size > LongestMessage {
		return 0, r.tasks.tooLong()
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
		r.begun, r.short = true, !bytes.Contains(r.text, []byte(`"tools"`))
	}
}

func (r *readMessages) flush() {
	if !r.short {
		r.tasks.read(bytes.TrimPrefix(r.text, []byte("data:")))
	}
	r.text, r.line, r.begun, r.short = r.text[:0], 0, false, false
}

// LongestMessage limits a message. The SDK accepts no longer ones.
const LongestMessage = sdk.DefaultMaxLineLength

// Messages passes on lines that are JSON. Other lines, such as a greeting, would end the
// connection. They go to the other writer.
type Messages struct {
	To    io.Writer
	Other io.Writer
	Tasks *Tasks // reads the messages; may be nil
	line  []byte
}

func (m *Messages) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		piece, rest, whole := bytes.Cut(p, []byte{'\n'})
		m.line = append(m.line, piece...)
		if len(m.line) > LongestMessage {
			return 0, m.Tasks.tooLong()
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
	} else if m.Tasks != nil {
		m.Tasks.read(line)
	}
	_, err := to.Write(m.line)
	return err
}
