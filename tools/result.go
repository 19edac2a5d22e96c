package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// OK is the result that shows v, which must marshal to a JSON object.
func OK(v any) Result {
	data, err := Marshal(v)
	if err != nil {
		return Fail("the result could not be written as JSON: %v", err)
	}
	return Result{JSON: data, marshalled: &data[0]}
}

// Brief sets the result that the model gets in place of r: the same facts in fewer tokens.
// Scripts get r.
func (r Result) Brief(v any) Result {
	r.brief = v
	return r
}

// forModel returns the result that the model gets. If r has none of its own, it is r.
func (r Result) forModel(script bool) Result {
	if r.brief != nil && !script {
		full := r
		if r = OK(full.brief); r.IsError {
			return full
		}
		r.IsError, r.Images, r.Shown = full.IsError, full.Images, full.Shown
	}
	return r
}

// Fail returns a failure that the model can read and correct: the problem and the next step.
func Fail(format string, args ...any) Result {
	data, err := Marshal(map[string]string{"error": fmt.Sprintf(format, args...)})
	if err != nil {
		data = []byte(`{"error":"unknown"}`)
	}
	return Result{JSON: data, IsError: true}
}

// With adds content that the editor shows for the call.
func (r Result) With(shown ...Content) Result {
	r.Shown = append(r.Shown, shown...)
	return r
}

// marshal is json.Marshal that leaves <, > and & as they are: code is full of
// them, and the model pays for every escape.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// orEmpty makes a nil list an empty one, which JSON shows as [].
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
