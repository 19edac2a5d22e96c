package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/internal/spelling"
	"github.com/hermes-ls/hermes-ls/tools/alias"
)

// Resolve returns a call under our names. The name and the parameters may come from another agent
// (package alias). If no tool matches, or nothing can run, it returns c and the failure for the
// model. offered reports whether a tool is offered; nil: all are. A registered name takes
// precedence.
func (s *Set) Resolve(c Call, offered func(name string) bool) (_ Call, failure string) {
	t, ok := s.Get(c.Name)
	if !ok && s.Missing != nil {
		s.Missing(c.Name)
		t, ok = s.Get(c.Name)
	}
	if ok && t.Means != nil {
		if inner, means := t.Means(c.Args); means {
			inner.ID = c.ID
			return s.Resolve(inner, offered)
		}
	}
	if ok && (c.resolved || fits(t.accepts.schema(), c.Args) && !alias.Decorated(c.Name, c.Args)) {
		return c, ""
	}
	if inner, wrapped := s.unwrapCall(c, t, ok); wrapped {
		return s.Resolve(inner, offered)
	}
	if !ok {
		name, advice := alias.Tool(c.Name, func(name string) bool {
			t, ok = s.Get(name)
			return ok && (offered == nil || offered(name))
		})
		if name == "" {
			return c, s.unknown(offered, c.Name, advice)
		}
	}
	call, given := alias.Call{Tool: t.Name, Via: c.Name}, map[string]any{}
	if call.Args, ok = alias.Raw(t.Name, string(c.Args)); !ok {
		object, err := RepairArgs(string(c.Args))
		if err != nil {
			c.Name = t.Name // dispatch reports the arguments
			return c, ""
		}
		call.Args, given = objectOf(object), objectOf(object)
	}
	note, problem := call.Translate(s.hasParam, s.allows)
	switch {
	case problem != "":
		return c, problem
	case call.Tool != t.Name && !s.has(call.Tool):
		return c, s.unknown(offered, c.Name, "")
	}
	if !reflect.DeepEqual(call.Args, given) {
		args, err := Marshal(call.Args)
		if err != nil {
			return c, fmt.Sprintf("%s: the arguments cannot be read: %v", c.Name, err)
		}
		c.Args = args
	}
	c.Name, c.Note, c.resolved = call.Tool, note, true
	return c, ""
}

// objectOf decodes a JSON object. Numbers keep their spelling.
func objectOf(object json.RawMessage) (m map[string]any) {
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	if dec.Decode(&m) != nil || m == nil {
		m = map[string]any{}
	}
	return m
}

func (s *Set) has(name string) bool {
	_, ok := s.Get(name)
	return ok
}

// hasParam reports whether a tool accepts a parameter.
func (s *Set) hasParam(tool, param string) bool {
	t, ok := s.Get(tool)
	return ok && t.accepts.schema().Properties[param] != nil
}

// allows reports whether a parameter may have a value. If the parameter has no list of values, it returns true.
func (s *Set) allows(tool, param, value string) bool {
	t, ok := s.Get(tool)
	if !ok || t.accepts.schema().Properties[param] == nil {
		return true
	}
	list := t.accepts.schema().Properties[param].Enum
	return len(list) == 0 || slices.ContainsFunc(list, func(e any) bool { return sameWord(e, value) })
}

// The names under which models wrap a call in the arguments of another call.
var (
	innerNames = []string{"name", "tool", "tool_name", "toolName", "function", "function_name", "recipient_name"}
	innerExtra = []string{"type", "id", "call_id", "tool_call_id"}
	innerArgs  = []string{"arguments", "args", "parameters", "params", "input", "tool_input", "kwargs", "properties"}
)

// unwrapCall extracts a call that a model wrapped in another call's arguments, as in {"name":
// "read_file", "arguments": {"path": "a.go"}}. If c is not such a call, wrapped is false. If c
// names a known tool, t is that tool.
func (s *Set) unwrapCall(c Call, t Tool, known bool) (inner Call, wrapped bool) {
	object, err := RepairArgs(string(c.Args))
	if err != nil {
		return c, false
	}
	var args json.RawMessage
	for field, value := range rawFields(object) {
		if own := t.param(field, known); own != nil && (field != t.Name || !isObject(value) || allows(own, "object")) {
			return c, false
		}
		var text string
		isText := json.Unmarshal(value, &text) == nil
		switch {
		case slices.Contains(innerExtra, field) && isText:
		case field == "function" && isObject(value) && args == nil: // as Chat Completions has it
			call, whole := s.unwrapCall(Call{Name: c.Name, Args: value}, Tool{}, false)
			if !whole {
				return c, false
			}
			c.Name, args = call.Name, call.Args
		case known && field == t.Name && isObject(value) && args == nil:
			args = value
		case slices.Contains(innerArgs, field) && args == nil:
			if isText {
				value = json.RawMessage(text)
			}
			if value = bytes.TrimSpace(value); len(value) == 0 || value[0] != '{' || !json.Valid(value) {
				return c, false
			}
			args = value
		case slices.Contains(innerNames, field) && isText && text != "":
			c.Name = text
		default:
			return c, false
		}
	}
	c.Args = args
	return c, args != nil
}

// param returns the schema of a parameter. If the tool is not known or does not have it, param returns nil.
func (t Tool) param(name string, known bool) *jsonschema.Schema {
	if !known {
		return nil
	}
	return t.accepts.schema().Properties[name]
}

func isObject(value json.RawMessage) bool { return len(value) > 0 && value[0] == '{' }

// rawFields returns the fields of a JSON object.
func rawFields(object json.RawMessage) (fields map[string]json.RawMessage) {
	if json.Unmarshal(object, &fields) != nil {
		return nil
	}
	return fields
}

// unknown returns the error for an unknown tool name. It lists the tools.
func (s *Set) unknown(offered func(string) bool, name, advice string) string {
	var names []string
	for _, t := range s.List() {
		if offered == nil || offered(t.Name) {
			names = append(names, t.Name)
		}
	}
	msg := fmt.Sprintf("Unknown tool: %s. Available: %s", OneLine(name, 80), strings.Join(names, ", "))
	if advice != "" {
		return msg + ". " + advice
	}
	near := spelling.Likely(name, names)
	if likely := alias.Likely(name, func(tool string) bool { return slices.Contains(names, tool) }); likely != "" {
		near = []string{likely}
	}
	if len(near) > 0 {
		msg += ". Did you mean " + strings.Join(near, " or ") + "?"
	}
	return msg
}

// WithNote adds a note to a result. If the result has a note, it appends to it.
func WithNote(object json.RawMessage, note string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return object // impossible: dispatch returns only objects
	}
	if have, ok := fields["note"]; ok {
		var before string
		if json.Unmarshal(have, &before) == nil {
			sep := "; "
			if strings.HasSuffix(before, ".") || strings.HasSuffix(before, "?") || before == "" {
				sep = " "
			}
			note = before + sep + note
		}
		fields["note"] = plainJSON(note)
		return plainJSON(fields)
	}
	body := bytes.TrimSpace(object)
	body = bytes.TrimSpace(body[:len(body)-1]) // without the brace
	comma := ","
	if len(fields) == 0 {
		comma = ""
	}
	return fmt.Appendf(nil, `%s%s"note":%s}`, body, comma, plainJSON(note))
}

func plainJSON(v any) json.RawMessage {
	data, err := Marshal(v)
	if err != nil {
		panic(err) // impossible: v has only strings and parsed JSON
	}
	return data
}
