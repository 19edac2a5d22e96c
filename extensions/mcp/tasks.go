package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// tasks records which tools of a server run only as tasks. hermes-ls does not offer them.
// The SDK does not decode this field, so read decodes it from the messages.
type tasks struct {
	mu       sync.Mutex
	required map[string]bool
}

// read records the tools in a message.
func (t *tasks) read(message []byte) {
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

func (t *tasks) needsTask(tool string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.required[tool]
}

// watch makes t read the messages of a response.
func (t *tasks) watch(resp *http.Response) {
	events := strings.Contains(resp.Header.Get("Content-Type"), "event-stream")
	resp.Body = &readMessages{ReadCloser: resp.Body, tasks: t, events: events}
}

// readMessages passes a body on and reads its messages: the lines of an event stream, or
// the whole body. If a message is longer than longestMessage, the body ends with an error,
// because the SDK would keep all of it in memory.
type readMessages struct {
	io.ReadCloser
	tasks  *tasks
	events bool
	text   []byte // of the message so far
	size   int    // of the event or the body so far
}

func (r *readMessages) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.add(p[:n])
	if r.size > longestMessage {
		return 0, fmt.Errorf("a message of more than %d bytes", longestMessage)
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
		if r.size += len(piece); r.size > longestMessage {
			return
		}
		r.text = append(r.text, piece...)
		if whole {
			switch line := bytes.TrimRight(r.text, "\r"); {
			case len(line) == 0:
				r.size = 0 // the end of an event
			case line[0] == ':':
				r.size -= len(r.text) // a comment
			}
			r.flush()
		}
		p = rest
	}
}

func (r *readMessages) flush() {
	r.tasks.read(bytes.TrimPrefix(r.text, []byte("data:")))
	r.text = r.text[:0]
}
