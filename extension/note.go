package extension

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/hermes-ls/hermes-ls/tools"
)

// WithNote appends a text to the field note of a result's object.
func WithNote(r tools.Result, text string) tools.Result {
	start, end, ok := valueOf(r.JSON, "note")
	if !ok {
		return r.WithField("note", text)
	}
	var have string
	if json.Unmarshal(r.JSON[start:end], &have) == nil && have != "" {
		text = have + "\n" + text
	}
	value, err := tools.Marshal(text)
	if err != nil {
		return r
	}
	r.JSON = slices.Concat(r.JSON[:start], value, r.JSON[end:])
	return r
}

// valueOf returns the position of a field's value in a JSON object. If the field is missing, it
// returns false.
func valueOf(object json.RawMessage, name string) (start, end int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return 0, 0, false
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return 0, 0, false
		}
		if key == name {
			end = int(d.InputOffset())
			return end - len(value), end, true
		}
	}
	return 0, 0, false
}
