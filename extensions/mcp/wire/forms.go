package wire

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Forms holds a server's forms with their fields in the original order. The SDK sorts the fields by
// name.
type Forms struct {
	mu   sync.Mutex
	sent map[string]json.RawMessage // by the schema with its keys sorted
}

// mostForms limits the stored forms. Only unanswered forms are needed.
const mostForms = 32

// elicits is in each message with a form.
const elicits = `"elicitation/create"`

// read records the form in a message.
func (f *Forms) read(message []byte) {
	if f == nil || !bytes.Contains(message, []byte(elicits)) {
		return
	}
	var m struct {
		Params struct{ RequestedSchema json.RawMessage }
	}
	var schema any
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(m.Params.RequestedSchema, &schema) != nil {
		return
	}
	sorted, err := json.Marshal(schema)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sent == nil || len(f.sent) >= mostForms {
		f.sent = map[string]json.RawMessage{}
	}
	f.sent[string(sorted)] = m.Params.RequestedSchema
}

// Sent returns the server's original schema. If it is not stored, Sent returns its argument.
func (f *Forms) Sent(schema any) any {
	sorted, err := json.Marshal(schema)
	if err != nil {
		return schema
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if sent, ok := f.sent[string(sorted)]; ok {
		return sent
	}
	return schema
}
