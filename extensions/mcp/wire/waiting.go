package wire

import (
	"bytes"
	"encoding/json"
	"io"
)

// waiting are a server's unanswered requests. Some servers leave the id out of a response, above
// all of an error. Without the id, the caller would wait until its timeout.
type waiting struct {
	ids map[string]string // their methods by id, as JSON
	// noted is whether a notification was sent after the server's last answer. Some servers wrongly answer
	// notifications, with an error without an id.
	noted bool
}

// Sent records a message to the server.
func (d *Dropped) Sent(text []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		}
	}
	if json.Unmarshal(text, &m) != nil || m.Method == "" {
		return // an answer
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !present(m.ID) {
		d.waiting.noted = true
		if m.Method == "notifications/cancelled" {
			delete(d.waiting.ids, string(idOf(m.Params.RequestID, false)))
		}
		return
	}
	if d.waiting.ids == nil {
		d.waiting.ids = map[string]string{}
	}
	d.waiting.ids[string(idOf(m.ID, false))] = m.Method
}

// answered returns the id and the method of the request that a message answers, and records the
// answer. id is the message's id. If it is missing, the message answers the request of, if known,
// or the only pending request. In unclear cases, answered returns nil.
func (d *Dropped) answered(id, of json.RawMessage, failure json.RawMessage) (_ json.RawMessage, method string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !present(id) {
		switch {
		case present(of):
			id = of
		case len(d.waiting.ids) != 1, d.waiting.noted && present(failure) && !unread(failure):
			return nil, ""
		default:
			for only := range d.waiting.ids {
				id = json.RawMessage(only)
			}
		}
	}
	method = d.waiting.ids[string(id)]
	delete(d.waiting.ids, string(id))
	d.waiting.noted = false
	return id, method
}

// unread reports whether an error is about a message unreadable for the server. Such messages are
// requests more often than notifications.
func unread(failure json.RawMessage) bool {
	var e struct{ Code json.RawMessage }
	_ = json.Unmarshal(failure, &e) // another type has no code
	switch textOf(e.Code) {
	case "-32700", "-32600": // parse error, invalid request
		return true
	}
	return false
}

// Sender passes messages on to a server, and records them.
type Sender struct {
	io.WriteCloser
	Dropped *Dropped
}

// Write passes on whole messages, at least one.
func (s Sender) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		s.Dropped.Sent(line)
	}
	return s.WriteCloser.Write(p)
}
