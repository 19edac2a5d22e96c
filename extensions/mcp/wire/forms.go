package wire

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Forms holds the forms that a server has sent, with their fields in its order. The SDK sorts the
// fields by name.
type Forms struct {
	mu   sync.Mutex
	sent map[string]json.RawMessage // by the schema with its keys sorted
}

// mostForms limits the forms that are kept. Only those that the user has not answered yet are needed.
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

// Sent returns a schema as the server sent it. If that is not known, it returns the schema.
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
