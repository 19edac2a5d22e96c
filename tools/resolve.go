package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/alias"
)

// Resolve returns a call under our names. The name and the parameters may be those of
// another agent (package alias). If no tool is meant, or nothing can be run, it returns c
// and the failure for the model. offered reports whether a tool is offered; nil: all are.
// A registered name takes precedence.
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
	if ok && (c.resolved || fitsAsIs(t.accepts.schema(), c.Args)) {
		return c, ""
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
	note, problem := call.Translate(s.hasParam)
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

// unknown returns the error of a name that no tool has. It lists the tools.
func (s *Set) unknown(offered func(string) bool, name, advice string) string {
	var names []string
	for _, t := range s.List() {
		if offered == nil || offered(t.Name) {
			names = append(names, t.Name)
		}
	}
	msg := fmt.Sprintf("Unknown tool: %s. Available: %s", OneLine(name, 80), strings.Join(names, ", "))
	if near := nearest(name, names); advice == "" && len(near) > 0 {
		return msg + ". Did you mean " + strings.Join(near, " or ") + "?"
	}
	if advice != "" {
		msg += ". " + advice
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
			note = before + " " + note
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
