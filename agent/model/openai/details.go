package openai

import (
	"encoding/json"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// details merges the reasoning_details of a response, which OpenRouter streams in pieces.
// They are the state of the response.
type details struct{ all []map[string]any }

// joinedFields are the fields whose pieces are appended. For other fields, the last value
// applies.
var joinedFields = [...]string{"text", "summary", "data"}

// add takes the pieces of a chunk. A piece continues the newest detail if type and index are
// the same.
func (d *details) add(pieces []map[string]any) {
	for _, p := range pieces {
		if p == nil {
			continue
		}
		n := len(d.all)
		if n == 0 || !same(d.all[n-1]["type"], p["type"]) || !same(d.all[n-1]["index"], p["index"]) {
			d.all = append(d.all, p)
			continue
		}
		last := d.all[n-1]
		for _, name := range joinedFields {
			before, _ := last[name].(string)
			if piece, ok := p[name].(string); ok {
				p[name] = before + piece
			}
		}
		for name, value := range p {
			if value != nil {
				last[name] = value
			}
		}
	}
}

// same compares strings, numbers and missing values. Other values are never the same.
func same(a, b any) bool {
	switch a.(type) {
	case string, float64, nil:
		return a == b
	}
	return false
}

// state returns the state of the response, or nil.
func (d *details) state(t *api.Target) *model.State {
	if len(d.all) == 0 {
		return nil
	}
	data, err := json.Marshal(d.all)
	if err != nil { // they come from JSON
		panic(err)
	}
	return t.NewState(data)
}

// detailsOf returns the reasoning_details of a message for the target, or nil.
func detailsOf(m *model.Message, t *api.Target) json.RawMessage {
	for i := range m.Parts {
		if data := t.State(&m.Parts[i]); json.Valid(data) {
			return data
		}
	}
	return nil
}
