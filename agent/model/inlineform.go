package model

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// form is a text form of calls.
type form struct {
	open, close string
	// viable reports whether a body with this start may become a call.
	viable func(body []byte, offered map[string]bool) bool
	// parse parses a complete body.
	parse func(body []byte, offered map[string]bool) ([]Call, bool)
	// cut parses a body cut at the length limit.
	cut func(body []byte, offered map[string]bool) ([]Call, bool)
}

var (
	toolCall  = form{"<tool_call>", "</tool_call>", viableCall, parseCall, cutObject}
	function  = form{"<function=", "</function>", viableFunction, parseFunction, cutFunction}
	jsonBlock = form{"```json", "\n```", viableObject, parseBlock, cutObject}
)

// viableCall accepts an object, a list, or the function form.
func viableCall(body []byte, offered map[string]bool) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	if inner, ok := bytes.CutPrefix(body, []byte(function.open)); ok {
		return viableFunction(inner, offered)
	}
	if isStart(body, function.open) || body[0] == '[' {
		return true
	}
	if body[0] != '{' { // a name, then <arg_key>
		name, _, whole := bytes.Cut(bytes.TrimRight(body, " \t\r\n"), []byte("\n"))
		name, _, arg := bytes.Cut(name, []byte("<"))
		return offers(offered, bytes.TrimSpace(name), whole || arg)
	}
	return viableObject(body, offered)
}

// viableObject accepts {"name": "x" if x is offered. The name may be incomplete.
func viableObject(body []byte, offered map[string]bool) bool {
	rest := bytes.TrimLeft(body, " \t\r\n")
	for _, want := range []string{"{", `"name"`, ":", `"`} {
		after, ok := bytes.CutPrefix(rest, []byte(want))
		if !ok {
			later := want == `"name"` && (begins(rest, `"arguments"`) || begins(rest, `"function"`) || begins(rest, `"type"`) || begins(rest, `"id"`))
			return later || isStart(rest, want)
		}
		rest = bytes.TrimLeft(after, " \t\r\n")
	}
	name, _, whole := bytes.Cut(rest, []byte(`"`))
	return offers(offered, name, whole)
}

// isStart reports whether want starts with s.
func isStart(s []byte, want string) bool { return len(s) <= len(want) && want[:len(s)] == string(s) }

// begins reports whether s starts with want, or want starts with s.
func begins(s []byte, want string) bool {
	return bytes.HasPrefix(s, []byte(want)) || isStart(s, want)
}

// viableFunction accepts x> if x is offered.
func viableFunction(body []byte, offered map[string]bool) bool {
	name, _, whole := bytes.Cut(body, []byte(">"))
	return offers(offered, name, whole)
}

// offers reports whether name is offered. If name is not complete, it may be the start of
// an offered name.
func offers(offered map[string]bool, name []byte, whole bool) bool {
	if whole {
		return offered[string(name)]
	}
	for o := range offered {
		if isStart(name, o) {
			return true
		}
	}
	return false
}

func parseCall(body []byte, offered map[string]bool) ([]Call, bool) {
	trimmed := bytes.TrimSpace(body)
	if inner, ok := bytes.CutPrefix(trimmed, []byte(function.open)); ok {
		inner = bytes.TrimSuffix(inner, []byte(function.close))
		return parseFunction(inner, offered)
	}
	if calls, ok := parseObjects(trimmed, offered); ok {
		return calls, true
	}
	if calls, ok := parseLoose(trimmed, offered); ok {
		return calls, true
	}
	if len(trimmed) > 0 && offered[string(trimmed)] { // without arguments
		return []Call{{Name: string(trimmed), Args: "{}"}}, true
	}
	return parseTail(trimmed, offered)
}

// parseBlock parses a fenced block with nothing but an object or a list.
func parseBlock(body []byte, offered map[string]bool) ([]Call, bool) {
	body = bytes.TrimSuffix(bytes.TrimSpace(body), []byte("```"))
	return parseObjects(bytes.TrimSpace(body), offered)
}

// written is a call in the models' form.
type written struct {
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	Parameters json.RawMessage `json:"parameters"`
	Function   *written        `json:"function"`
	Type       string          `json:"type"`
	ID         string          `json:"id"`
}

// parseObjects parses objects in sequence, or lists of them.
func parseObjects(body []byte, offered map[string]bool) ([]Call, bool) {
	var calls []Call
	dec := json.NewDecoder(bytes.NewReader(body))
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err == io.EOF {
			return calls, len(calls) > 0
		} else if err != nil {
			return nil, false
		}
		list := []written{{}}
		into := any(&list[0])
		if raw[0] == '[' {
			into = &list
		}
		strict := json.NewDecoder(bytes.NewReader(raw))
		strict.DisallowUnknownFields()
		if strict.Decode(into) != nil {
			return nil, false
		}
		for _, w := range list {
			c, ok := w.call(offered)
			if !ok {
				return nil, false
			}
			calls = append(calls, c)
		}
	}
}

func (w written) call(offered map[string]bool) (Call, bool) {
	if w.Function != nil {
		return w.Function.call(offered)
	}
	args := w.Arguments
	if args == nil {
		args = w.Parameters
	}
	var text string
	if len(args) > 0 && args[0] == '"' && json.Unmarshal(args, &text) == nil {
		args = json.RawMessage(text)
	}
	if args == nil || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	return Call{Name: w.Name, Args: string(args)}, offered[w.Name]
}

// parseLoose parses an object with complete but invalid arguments. The tool call repairs or
// rejects them.
func parseLoose(body []byte, offered map[string]bool) ([]Call, bool) {
	name, args, ok := loose(body)
	if !ok || !offered[name] || !strings.HasSuffix(args, "}}") {
		return nil, false
	}
	return []Call{{Name: name, Args: strings.TrimSpace(strings.TrimSuffix(args, "}"))}}, true
}

// cutObject parses an object without its end. Its arguments stay incomplete.
func cutObject(body []byte, offered map[string]bool) ([]Call, bool) {
	body = bytes.TrimSpace(body)
	if inner, ok := bytes.CutPrefix(body, []byte(function.open)); ok {
		return cutFunction(inner, offered)
	}
	name, args, ok := loose(body)
	if !ok || !offered[name] {
		return nil, false
	}
	return []Call{{Name: name, Args: args}}, true
}

// loose splits {"name": "x", "arguments": … into name and the rest.
func loose(body []byte) (name, args string, ok bool) {
	rest := string(body)
	for _, want := range []string{"{", `"name"`, ":", `"`} {
		if rest, ok = strings.CutPrefix(rest, want); !ok {
			return "", "", false
		}
		rest = strings.TrimLeft(rest, " \t\r\n")
	}
	name, rest, ok = strings.Cut(rest, `"`)
	if !ok {
		return "", "", false
	}
	if i := strings.IndexByte(rest, '{'); i >= 0 {
		return name, rest[i:], true
	}
	return name, "", true
}

// parseFunction parses x>{…} or x><parameter=a>…</parameter>….
func parseFunction(body []byte, offered map[string]bool) ([]Call, bool) {
	name, rest, ok := bytes.Cut(body, []byte(">"))
	if !ok || !offered[string(name)] {
		return nil, false
	}
	rest = bytes.TrimSpace(rest)
	call := Call{Name: string(name), Args: string(rest)}
	switch {
	case len(rest) == 0:
		call.Args = "{}"
	case bytes.HasPrefix(rest, []byte("<parameter=")):
		call.Args, ok = parameters(string(rest))
	default:
		ok = rest[0] == '{' && rest[len(rest)-1] == '}'
	}
	return []Call{call}, ok
}

// cutFunction parses x>… without its end.
func cutFunction(body []byte, offered map[string]bool) ([]Call, bool) {
	name, rest, ok := bytes.Cut(body, []byte(">"))
	return []Call{{Name: string(name), Args: string(bytes.TrimSpace(rest))}}, ok && offered[string(name)]
}

// parameters converts <parameter=a>\nvalue\n</parameter>… to {"a":"value"}. All values are
// strings. Their types are in the tool's schema.
func parameters(s string) (string, bool) {
	var b strings.Builder
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		rest, ok := strings.CutPrefix(s, "<parameter=")
		key, rest, ok2 := strings.Cut(rest, ">")
		value, rest, ok3 := strings.Cut(rest, "</parameter>")
		if !ok || !ok2 || !ok3 {
			return "", false
		}
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
		b.WriteString(",")
		b.Write(quote(key))
		b.WriteString(":")
		b.Write(quote(value))
		s = rest
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}", true
}

func quote(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string can always be encoded
		panic(err)
	}
	return text
}
