// Package schema converts the JSON schema of a tool's arguments to a form accepted by a model
// API. Servers and plugins write schemas of any kind. An API refuses the whole request if it
// does not accept a schema, so no turn would work. An accepted schema stays unchanged, byte for
// byte. The tool checks its arguments against the original schema.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// Rules describe the schemas accepted by an API.
type Rules struct {
	keywords  []string // supported keywords; nil: all
	formats   []string // of strings
	refs      bool     // references to definitions of the schema
	patterns  bool     // regular expressions
	typed     bool     // each schema needs a type or alternatives
	lists     bool     // type may be a list of several types
	scalars   bool     // enum accepts only strings and numbers
	defined   bool     // required may name only properties
	itemized  bool     // an array must describe its items
	deepest   int      // levels of schemas
	mostNodes int      // schemas, after references were replaced
}

var common = []string{
	"type", "title", "description", "enum", "items", "properties", "required", "additionalProperties", "anyOf", "format",
	"minimum", "maximum", "minItems", "maxItems",
}

// Rules of the APIs. The servers behind Chat differ most: some make a grammar of the schema, and
// refuse the rest.
var (
	Chat = &Rules{
		keywords: append([]string{"default", "minLength", "maxLength"}, common...), formats: []string{"date-time", "date", "time", "uuid"},
		typed: true, lists: true, defined: true, itemized: true, deepest: 16, mostNodes: 400,
	}
	Gemini = &Rules{
		keywords: common, formats: []string{"enum", "date-time", "date", "time"},
		typed: true, scalars: true, defined: true, itemized: true, deepest: 10, mostNodes: 400,
	}
	// OldGemini is for endpoints without JSON Schema support.
	OldGemini = &Rules{
		keywords: slices.DeleteFunc(slices.Clone(common), func(key string) bool { return key == "additionalProperties" }), formats: Gemini.formats,
		typed: true, scalars: true, defined: true, itemized: true, deepest: 10, mostNodes: 400,
	}
	Messages  = &Rules{refs: true, patterns: true, lists: true, deepest: 16, mostNodes: 2000}
	Responses = &Rules{
		refs: true, patterns: true, lists: true, itemized: true, deepest: 16, mostNodes: 2000,
		formats: []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	}
)

// Of returns the schema of a tool's arguments in a form accepted by the API with these rules.
// It is always the schema of an object.
func (r *Rules) Of(raw json.RawMessage) json.RawMessage {
	const nothing = `{"type":"object","properties":{}}`
	if len(raw) == 0 {
		return json.RawMessage(nothing)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var root map[string]any
	if !json.Valid(raw) || dec.Decode(&root) != nil || root == nil {
		return json.RawMessage(nothing)
	}
	before, _ := clone(root).(map[string]any)
	m := &mender{Rules: r, root: before}
	mended := m.top(root)
	if reflect.DeepEqual(before, mended) {
		return raw
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(mended) != nil { // it was decoded from JSON
		return json.RawMessage(nothing)
	}
	return bytes.TrimSpace(out.Bytes())
}

// mender mends a schema.
type mender struct {
	*Rules
	root  map[string]any // the original schema
	open  []string       // references currently being replaced
	nodes int
}

// top mends the schema of the arguments: an object without alternatives.
func (m *mender) top(root map[string]any) map[string]any {
	s := m.resolve(root)
	m.combine(s)
	for _, key := range []string{"enum", "const", "not", "if", "then", "else", "dependentSchemas"} {
		delete(s, key)
	}
	s["type"] = "object"
	if _, ok := s["properties"].(map[string]any); !ok {
		s["properties"] = map[string]any{}
	}
	m.fields(s, 0)
	if m.refs && !m.refersIn(s) {
		delete(s, "$defs")
		delete(s, "definitions")
	}
	return s
}

// refersIn reports whether a value contains references, outside the definitions.
func (m *mender) refersIn(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			if key == "$ref" || key != "$defs" && key != "definitions" && m.refersIn(one) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, m.refersIn)
	}
	return false
}

// sub mends a schema below the top. If value is not a schema, sub returns false.
func (m *mender) sub(value any, depth int) (any, bool) {
	s, ok := value.(map[string]any)
	if is, boolean := value.(bool); boolean {
		if !m.typed {
			return is, true
		}
		s, ok = map[string]any{}, is
	}
	if !ok {
		return nil, false
	}
	if m.nodes++; depth > m.deepest || m.nodes > m.mostNodes {
		return m.short(s), true
	}
	ref, refers := s["$ref"].(string)
	if refers && m.refs && m.target(ref) != nil && localName(ref) {
		return s, true
	}
	if refers {
		m.open = append(m.open, ref)
		defer func() { m.open = m.open[:len(m.open)-1] }()
	}
	s = m.resolve(s)
	m.alternatives(s, depth)
	m.fields(s, depth)
	return s, true
}

// short returns the kind of a schema without its parts.
func (m *mender) short(s map[string]any) map[string]any {
	out := map[string]any{"type": "object"}
	switch kind, _ := s["type"].(string); kindOf(kind) {
	case "string", "number", "integer", "boolean":
		out["type"] = kindOf(kind)
	case "array":
		out["type"], out["items"] = "array", map[string]any{"type": "string"}
	}
	if text, ok := s["description"].(string); ok {
		out["description"] = text
	}
	return out
}

// localName reports whether a reference points to a definition at the top of the schema.
func localName(ref string) bool {
	for _, prefix := range []string{"#/$defs/", "#/definitions/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return !strings.Contains(name, "/")
		}
	}
	return false
}

// target returns the schema named by a reference, or nil.
func (m *mender) target(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = m.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if name == "" {
			continue
		}
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	found, _ := at.(map[string]any)
	return found
}

// mostOpen limits how often a schema is nested in itself.
const mostOpen = 1

// resolve replaces the reference of a schema by its target.
func (m *mender) resolve(s map[string]any) map[string]any {
	for range 8 { // a reference may point to a reference
		ref, ok := s["$ref"]
		if !ok {
			return s
		}
		delete(s, "$ref")
		name, _ := ref.(string)
		to := m.target(name)
		same := 0
		for _, o := range m.open {
			if o == name {
				same++
			}
		}
		switch {
		case to == nil:
		case same > mostOpen:
			to = m.short(to)
			fallthrough
		default:
			merged, _ := clone(to).(map[string]any)
			for _, key := range []string{"$defs", "definitions"} {
				delete(merged, key)
			}
			maps.Copy(merged, s)
			s = merged
		}
	}
	delete(s, "$ref")
	return s
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[key] = clone(one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = clone(one)
		}
		return out
	}
	return value
}

// alternatives mends allOf, anyOf and oneOf of a schema below the top.
func (m *mender) alternatives(s map[string]any, depth int) {
	if m.keywords == nil {
		for _, key := range []string{"allOf", "anyOf", "oneOf"} {
			m.list(s, key, depth)
		}
		return
	}
	if list, ok := s["oneOf"].([]any); ok && s["anyOf"] == nil {
		s["anyOf"] = list
	}
	delete(s, "oneOf")
	if s["allOf"] != nil || s["properties"] != nil {
		all := map[string]any{"allOf": s["allOf"]}
		if s["properties"] != nil { // alternatives of an object with properties extend them
			all["anyOf"] = s["anyOf"]
			delete(s, "anyOf")
		}
		delete(s, "allOf")
		m.merge(s, all)
	}
	m.list(s, "anyOf", depth)
	list, _ := s["anyOf"].([]any)
	for _, one := range list {
		branch, _ := one.(map[string]any)
		if branch["type"] == nil && branch["anyOf"] == nil {
			delete(s, "anyOf") // such as {"required": […]}
			return
		}
	}
	if len(list) == 1 {
		delete(s, "anyOf")
		for key, value := range list[0].(map[string]any) {
			if s[key] == nil || key == "type" {
				s[key] = value
			}
		}
		return
	}
	if len(list) > 1 {
		delete(s, "type") // the alternatives define types
		delete(s, "enum")
	}
}

// list mends the schemas of a list.
func (m *mender) list(s map[string]any, key string, depth int) {
	value, there := s[key]
	if !there {
		return
	}
	given, _ := value.([]any)
	var list []any
	for _, one := range given {
		if branch, ok := one.(map[string]any); ok && branch["type"] == nil && s["type"] != nil && (branch["enum"] != nil || branch["const"] != nil || branch["pattern"] != nil || branch["format"] != nil) {
			branch["type"] = s["type"]
		}
		if m.typed && bare(one) {
			list = append(list, map[string]any{})
			continue
		}
		if mended, ok := m.sub(one, depth+1); ok {
			list = append(list, mended)
		}
	}
	if delete(s, key); len(list) > 0 {
		s[key] = list
	}
}

// bare reports whether an alternative describes no value, such as {"required": ["a"]}.
func bare(value any) bool {
	s, ok := value.(map[string]any)
	for _, key := range []string{"type", "properties", "items", "prefixItems", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"} {
		ok = ok && s[key] == nil
	}
	return ok
}

// combine removes the alternatives at the top, which some APIs refuse, and adds their
// properties to the object.
func (m *mender) combine(s map[string]any) {
	all := map[string]any{}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if value, ok := s[key]; ok {
			all[key] = value
			delete(s, key)
		}
	}
	m.merge(s, all)
}

// merge adds the parts of alternatives to a schema.
func (m *mender) merge(s, all map[string]any) {
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := all[key].([]any)
		var always []any // required by every alternative
		branches := 0
		for _, one := range list {
			branch, ok := one.(map[string]any)
			if m.nodes++; !ok || m.nodes > m.mostNodes {
				continue
			}
			branch = m.resolve(branch)
			m.combine(branch)
			required, _ := branch["required"].([]any)
			if key == "allOf" {
				always = append(always, required...)
			} else if branches == 0 {
				always = required
			} else {
				always = slices.DeleteFunc(slices.Clone(always), func(v any) bool { return !slices.Contains(texts(required), fmt.Sprint(v)) })
			}
			branches++
			properties, _ := branch["properties"].(map[string]any)
			addProperties(s, properties)
			for name, value := range branch {
				if name != "properties" && name != "required" && (s[name] == nil && key == "allOf") {
					s[name] = value
				}
			}
		}
		if len(always) > 0 {
			required, _ := s["required"].([]any)
			s["required"] = append(slices.Clone(required), always...)
		}
	}
}

// addProperties adds properties to a schema. A property already present in another form accepts
// both.
func addProperties(s, more map[string]any) {
	own, ok := s["properties"].(map[string]any)
	if !ok && len(more) > 0 {
		own = map[string]any{}
		s["properties"] = own
	}
	for name, value := range more {
		before, there := own[name]
		switch {
		case !there:
			own[name] = value
		case reflect.DeepEqual(before, value):
		default:
			own[name] = either(before, value)
		}
	}
}

// either returns a schema that accepts the values of both schemas.
func either(a, b any) any {
	first, ok := a.(map[string]any)
	second, ok2 := b.(map[string]any)
	if !ok || !ok2 {
		return a
	}
	one, two := choices(first), choices(second)
	if one != nil && two != nil {
		out := maps.Clone(first)
		delete(out, "const")
		out["enum"] = append(slices.Clone(one), two...)
		return out
	}
	if list, ok := first["anyOf"].([]any); ok && len(first) == 1 {
		return map[string]any{"anyOf": append(slices.Clone(list), b)}
	}
	return map[string]any{"anyOf": []any{a, b}}
}

// choices returns the listed values of a schema, or nil.
func choices(s map[string]any) []any {
	if value, ok := s["const"]; ok {
		return []any{value}
	}
	list, _ := s["enum"].([]any)
	return list
}

// texts returns the strings of a list.
func texts(list []any) (out []string) {
	for _, one := range list {
		if text, ok := one.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// Names matches property names accepted by all APIs.
var Names = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)
