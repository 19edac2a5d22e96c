package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

var errNoObject = errors.New("not a JSON object")

// member is a member of a JSON object. Its value keeps the bytes of the source.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of an object in their order. If raw is not an object, it
// returns an error.
func members(raw []byte) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	start, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if start.Kind() != '{' {
		return nil, errNoObject
	}
	var list []member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = bytes.Clone(value)
		list = append(list, m)
	}
	return list, nil
}

// shown lists, for each type of item, the members repeated in the parts of a message. A state
// contains only the other members.
var shown = map[string][]string{
	"message":       {"type", "role", "content"},
	"function_call": {"type", "call_id", "name", "arguments"},
}

// stateOf returns the members of an output item missing in its part, as a JSON object. It omits
// the status and null members, because the API rejects some of them in a request. If nothing is
// left, it returns nil.
func stateOf(kind string, raw []byte) ([]byte, error) {
	list, err := members(raw)
	if err != nil {
		return nil, err
	}
	state := []byte{'{'}
	if kind == "reasoning" {
		list = withSummary(list)
	}
	for _, m := range list {
		if m.name == "status" || string(m.value) == "null" || slices.Contains(shown[kind], m.name) || m.name == "id" && !isID(m.value) {
			continue
		}
		state = appendKey(state, m.name)
		state = append(state, m.value...)
	}
	if len(state) == 1 {
		return nil, nil
	}
	return append(state, '}'), nil
}

// isID reports whether the value of a member is a text that could be the id of an item.
func isID(value json.RawMessage) bool {
	var id string
	return json.Unmarshal(value, &id) == nil && id != ""
}

// withSummary returns the members of a reasoning item with a list as its summary. The API refuses
// other summaries, and items without one.
func withSummary(list []member) []member {
	var parts []struct{ Text *string }
	at := slices.IndexFunc(list, func(m member) bool { return m.name == "summary" })
	if at < 0 {
		return append(list, member{"summary", json.RawMessage("[]")})
	}
	if json.Unmarshal(list[at].value, &parts) != nil || parts == nil || slices.ContainsFunc(parts, func(p struct{ Text *string }) bool { return p.Text == nil }) {
		list[at].value = json.RawMessage("[]")
	}
	return list
}

// inside returns the members of a state, followed by a comma. If there is no state for the
// target, it returns nil.
func inside(t *api.Target, p *model.Part) []byte {
	state := t.State(p)
	if len(state) < 2 {
		return nil
	}
	var item struct {
		ID *string `json:"id"`
	}
	if json.Unmarshal(state, &item) == nil && item.ID != nil && !isItemID(*item.ID, p.Type) {
		return nil // an id refused by the API
	}
	list := bytes.Clone(state[1:])
	list[len(list)-1] = ','
	return list
}

// isItemID reports whether the API accepts an item id: at most 64 characters with the prefix of
// its type.
func isItemID(id string, kind model.PartType) bool {
	prefix := "msg"
	if kind == model.CallType {
		prefix = "fc"
	}
	return strings.HasPrefix(id, prefix) && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// appendKey appends the name of a member, preceded by a comma unless it is the first.
func appendKey(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendText(b, name), ':')
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error is about invalid UTF-8, which is replaced
	return b
}
