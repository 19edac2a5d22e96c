package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// fields mends the keywords of a schema, apart from references and alternatives.
func (m *mender) fields(s map[string]any, depth int) {
	m.wellFormed(s)
	m.types(s)
	m.values(s)
	m.properties(s, depth)
	m.items(s, depth)
	m.texts(s)
	if m.keywords != nil {
		var told []string
		for _, key := range slices.Sorted(maps.Keys(s)) {
			if !slices.Contains(m.keywords, key) {
				told = append(told, said(key, s[key]))
				delete(s, key)
			}
		}
		note(s, told...)
		return
	}
	m.nested(s, depth)
}

// told lists keywords to mention in a schema's description if an API does not accept them.
var told = []string{"pattern", "format", "default", "minLength", "maxLength", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "minProperties", "maxProperties"}

// said returns a keyword and its value as text, or "".
func said(key string, value any) string {
	if !slices.Contains(told, key) {
		return ""
	}
	text, is := value.(string)
	if data, err := json.Marshal(value); !is && err == nil {
		text = string(data)
	}
	if text == "" || len(text) > 200 {
		return ""
	}
	return key + ": " + text
}

// note adds texts to the description of a schema.
func note(s map[string]any, notes ...string) {
	notes = slices.DeleteFunc(notes, func(n string) bool { return n == "" })
	if len(notes) == 0 {
		return
	}
	text, _ := s["description"].(string)
	s["description"] = strings.TrimSpace(text + " (" + strings.Join(notes, ", ") + ")")
}

// wellFormed removes keywords whose values have the wrong type.
func (m *mender) wellFormed(s map[string]any) {
	for key, value := range s {
		fits := true
		switch key {
		case "$schema", "$id", "$anchor", "$comment", "title", "description", "format", "pattern":
			_, fits = value.(string)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
			_, fits = value.(json.Number)
		case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
			n, ok := value.(json.Number)
			count, err := n.Int64()
			fits = ok && err == nil && count >= 0
		case "uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable":
			_, fits = value.(bool)
		case "examples":
			_, fits = value.([]any)
		case "$ref", "$dynamicRef", "$recursiveRef":
			fits = false // already replaced, or without a target
		}
		if !fits {
			delete(s, key)
		}
	}
	for _, key := range []string{"minimum", "maximum"} {
		if n, ok := s[key].(json.Number); ok {
			if _, err := n.Float64(); err != nil {
				delete(s, key)
			}
		}
	}
}

// kinds maps other names used by servers to the types of JSON Schema.
var kinds = map[string]string{
	"string": "string", "str": "string", "text": "string", "char": "string", "date": "string", "datetime": "string", "uuid": "string", "enum": "string", "file": "string",
	"number": "number", "float": "number", "double": "number", "decimal": "number",
	"integer": "integer", "int": "integer", "int32": "integer", "int64": "integer", "long": "integer",
	"boolean": "boolean", "bool": "boolean",
	"object": "object", "dict": "object", "map": "object", "record": "object", "struct": "object", "json": "object",
	"array": "array", "list": "array", "tuple": "array", "set": "array",
	"null": "null", "none": "null", "nil": "null",
}

// kindOf returns the type of JSON Schema for a name, or "".
func kindOf(name string) string { return kinds[strings.ToLower(strings.TrimSpace(name))] }

// Kind returns the type of JSON Schema for a server's name of a type, or "".
func Kind(name string) string { return kindOf(name) }

// types mends the type of a schema.
func (m *mender) types(s map[string]any) {
	given := listOf(s["type"])
	var known []any
	for _, name := range given {
		if text, ok := name.(string); ok && kindOf(text) != "" && !slices.Contains(known, any(kindOf(text))) {
			known = append(known, kindOf(text))
		}
	}
	if len(known) == 0 {
		delete(s, "type")
		if kind := inferred(s); kind != "" && (m.typed || given != nil) {
			known = []any{kind}
		}
	}
	if nullable, _ := s["nullable"].(bool); nullable && m.keywords != nil && len(known) > 0 && !slices.Contains(known, any("null")) {
		known = append(known, "null")
	}
	if s["anyOf"] != nil && m.keywords != nil {
		return
	}
	others := slices.DeleteFunc(slices.Clone(known), func(k any) bool { return k == "null" })
	switch {
	case len(known) == 1:
		s["type"] = known[0]
	case len(known) > 1 && (m.lists || len(others) == 1):
		if !reflect.DeepEqual(s["type"], any(known)) {
			s["type"] = known
		}
	case len(known) > 1:
		delete(s, "type")
		s["anyOf"] = alternativesOf(others)
	case m.typed && s["anyOf"] == nil:
		s["anyOf"] = alternativesOf([]any{"string", "number", "boolean", "object", "array"})
	}
}

func alternativesOf(kinds []any) (list []any) {
	for _, kind := range kinds {
		one := map[string]any{"type": kind}
		if kind == "array" {
			one["items"] = map[string]any{"type": "string"}
		}
		list = append(list, one)
	}
	return list
}

func listOf(value any) []any {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{value}
}

// inferred returns the type implied by other keywords of a schema, or "".
func inferred(s map[string]any) string {
	if list := choices(s); len(list) > 0 {
		return valuesKind(list)
	}
	for _, of := range []struct {
		kind string
		keys []string
	}{
		{"object", []string{"properties", "additionalProperties", "patternProperties", "required"}},
		{"array", []string{"items", "prefixItems", "minItems", "maxItems"}},
		{"string", []string{"pattern", "format", "minLength", "maxLength"}},
		{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
	} {
		for _, key := range of.keys {
			if s[key] != nil {
				return of.kind
			}
		}
	}
	return ""
}

// valuesKind returns the type of all values but null. If they differ, it returns "".
func valuesKind(list []any) (kind string) {
	for _, one := range list {
		is := ""
		switch v := one.(type) {
		case string:
			is = "string"
		case bool:
			is = "boolean"
		case json.Number:
			if is = "integer"; strings.ContainsAny(v.String(), ".eE") {
				is = "number"
			}
		case nil:
			continue
		case map[string]any:
			is = "object"
		case []any:
			is = "array"
		}
		switch {
		case kind == "" || kind == is:
			kind = is
		case (kind == "integer" || kind == "number") && (is == "integer" || is == "number"):
			kind = "number"
		default:
			return ""
		}
	}
	return kind
}

// values mends the listed values of a schema.
func (m *mender) values(s map[string]any) {
	if value, ok := s["const"]; ok && m.keywords != nil {
		delete(s, "const")
		if s["enum"] == nil {
			s["enum"] = []any{value}
		}
	}
	raw, there := s["enum"]
	if !there {
		return
	}
	list, _ := raw.([]any)
	var unique []any
	for _, one := range list {
		if !slices.ContainsFunc(unique, func(u any) bool { return reflect.DeepEqual(u, one) }) {
			unique = append(unique, one)
		}
	}
	delete(s, "enum")
	if len(unique) == 0 {
		return
	}
	if kind, ok := s["type"].(string); ok && !permits(kind, unique) { // the server compares with the listed values
		if is := valuesKind(unique); is != "" {
			kind = is
			s["type"] = is
		} else if !m.typed {
			delete(s, "type")
			kind = ""
		}
		if kind != "" {
			unique = slices.DeleteFunc(unique, func(v any) bool { return !permits(kind, []any{v}) })
		}
	}
	if m.scalars {
		kind, _ := s["type"].(string)
		if kinds := listOf(s["type"]); len(kinds) == 2 { // with null
			kind, _ = kinds[0].(string)
			if kind == "null" {
				kind, _ = kinds[1].(string)
			}
		}
		unique = slices.DeleteFunc(unique, func(v any) bool { return v == nil })
		if kind != "string" && kind != "integer" && kind != "number" || !permits(kind, unique) {
			note(s, "one of "+shortList(unique))
			return
		}
	}
	if len(unique) > 0 {
		s["enum"] = unique
	}
}

func shortList(list []any) string {
	text, err := json.Marshal(list)
	if err != nil || len(text) > 300 {
		return "several values"
	}
	return string(text)
}

// permits reports whether all values are of a type.
func permits(kind string, list []any) bool {
	for _, one := range list {
		is := valuesKind([]any{one})
		if one == nil {
			is = "null"
		}
		if is != kind && (is != "integer" || kind != "number") {
			return false
		}
	}
	return true
}

// properties mends the properties of a schema, and the names of required properties.
func (m *mender) properties(s map[string]any, depth int) {
	own, ok := s["properties"].(map[string]any)
	if !ok {
		delete(s, "properties")
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		mended, ok := m.sub(own[name], depth+1)
		if !ok || !Names.MatchString(name) && !m.accepts(name) {
			delete(own, name)
			continue
		}
		own[name] = mended
	}
	if extra, ok := s["additionalProperties"]; ok {
		if _, boolean := extra.(bool); !boolean {
			if mended, ok := m.sub(extra, depth+1); ok {
				s["additionalProperties"] = mended
			} else {
				delete(s, "additionalProperties")
			}
		}
	}
	required, there := s["required"]
	if !there {
		return
	}
	list, _ := required.([]any)
	names := slices.Compact(slices.DeleteFunc(texts(list), func(name string) bool {
		_, exists := own[name]
		return !exists && (m.defined || ok)
	}))
	var unique []any
	for _, name := range names {
		if !slices.Contains(unique, any(name)) {
			unique = append(unique, name)
		}
	}
	if delete(s, "required"); len(unique) > 0 {
		s["required"] = unique
	} else if len(list) == 0 && required != nil && !m.defined {
		s["required"] = []any{}
	}
}

// accepts reports whether the API accepts a property name outside [Names].
func (m *mender) accepts(name string) bool {
	return name != "" && (m.Rules == Responses || m.Rules == Chat)
}

// items mends the items of an array.
func (m *mender) items(s map[string]any, depth int) {
	before := s["items"]
	tuple, isTuple := before.([]any)
	if list, ok := s["prefixItems"].([]any); ok && m.keywords != nil {
		tuple, isTuple = list, true
		delete(s, "prefixItems")
	}
	if isTuple { // the older form of a fixed-length list
		delete(s, "additionalItems")
		s["items"] = tupleOf(tuple)
	}
	if value, ok := s["items"]; ok {
		if mended, ok := m.sub(value, depth+1); ok {
			s["items"] = mended
		} else {
			delete(s, "items")
		}
	}
	if is := slices.Contains(listOf(s["type"]), any("array")); !is && m.keywords != nil {
		delete(s, "items")
	} else if _, there := s["items"]; is && !there && m.itemized {
		s["items"], _ = m.sub(map[string]any{}, depth+1)
	}
}

func tupleOf(list []any) any {
	var different []any
	for _, one := range list {
		if !slices.ContainsFunc(different, func(d any) bool { return reflect.DeepEqual(d, one) }) {
			different = append(different, one)
		}
	}
	switch len(different) {
	case 0:
		return map[string]any{}
	case 1:
		return different[0]
	}
	return map[string]any{"anyOf": different}
}

// texts mends formats and regular expressions.
func (m *mender) texts(s map[string]any) {
	if format, ok := s["format"].(string); ok && m.formats != nil && !slices.Contains(m.formats, format) {
		delete(s, "format")
		note(s, said("format", format))
	}
	if pattern, ok := s["pattern"].(string); ok {
		if _, err := regexp.Compile(pattern); err != nil || !m.patterns {
			delete(s, "pattern")
			note(s, said("pattern", pattern))
		}
	}
	if _, ok := s["format"]; ok && m.keywords != nil && !slices.Contains(listOf(s["type"]), any("string")) {
		delete(s, "format")
	}
}

// nested mends the other keywords containing schemas.
func (m *mender) nested(s map[string]any, depth int) {
	for _, key := range []string{"contains", "propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema"} {
		if value, ok := s[key]; ok {
			if mended, ok := m.sub(value, depth+1); ok {
				s[key] = mended
			} else {
				delete(s, key)
			}
		}
	}
	for _, key := range []string{"$defs", "definitions", "dependentSchemas", "patternProperties"} {
		named, ok := s[key].(map[string]any)
		if !ok {
			delete(s, key)
			continue
		}
		for name, value := range named {
			mended, ok := m.sub(value, depth+1)
			_, err := regexp.Compile(name)
			if !ok || key == "patternProperties" && err != nil {
				delete(named, name)
				continue
			}
			named[name] = mended
		}
	}
	m.list(s, "prefixItems", depth)
	delete(s, "additionalItems")
	delete(s, "dependencies")
	delete(s, "$recursiveAnchor")
	if required, ok := s["dependentRequired"].(map[string]any); ok {
		for name, list := range required {
			if names, isList := list.([]any); !isList || len(texts(names)) != len(names) {
				delete(required, name)
			}
		}
	} else {
		delete(s, "dependentRequired")
	}
	for _, id := range []string{"$id", "$anchor", "$dynamicAnchor", "$vocabulary"} {
		delete(s, id)
	}
	if dialect, ok := s["$schema"]; ok && !strings.Contains(fmt.Sprint(dialect), "2020-12") {
		delete(s, "$schema") // the schema is now in the form of draft 2020-12
	}
}
