package servertest

import (
	"encoding/json"
	"fmt"
)

// wrongProgress checks the work-done progress of a whole connection: each begun progress ends once,
// and reports nothing afterwards.
func wrongProgress(frames []Frame) (wrong []string) {
	last := map[string]string{} // the last kind, by token
	for _, f := range frames {
		var p struct {
			Token json.RawMessage
			Value struct{ Kind string }
		}
		if f.Method != "$/progress" || json.Unmarshal(f.Params, &p) != nil || p.Value.Kind == "" {
			continue
		}
		token, kind := string(p.Token), p.Value.Kind
		if open := last[token] == "begin" || last[token] == "report"; open == (kind == "begin") {
			wrong = append(wrong, fmt.Sprintf("the progress %s has %q after %q", token, kind, last[token]))
		}
		last[token] = kind
	}
	for token, kind := range last {
		if kind != "end" {
			wrong = append(wrong, fmt.Sprintf("the progress %s has no end", token))
		}
	}
	return wrong
}
