package config

import (
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the JSON Schema (draft 2020-12) of config.yaml.
func Schema() json.RawMessage {
	defaults, err := json.Marshal(Default())
	if err != nil {
		panic(err) // the defaults are plain values
	}
	var tree map[string]any
	if err := json.Unmarshal(defaults, &tree); err != nil {
		panic(err)
	}
	s := sectionSchema(reflect.TypeFor[Config](), tree)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "hermes-ls config.yaml"
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err)
	}
	return out
}

func sectionSchema(typ reflect.Type, defaults map[string]any) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, f := range fieldsOf(typ) {
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		s.Properties[f.name] = fieldSchema(f, defaults[f.name])
	}
	return s
}

func fieldSchema(f field, value any) *jsonschema.Schema {
	if f.section() {
		tree, _ := value.(map[string]any)
		s := sectionSchema(f.typ, tree)
		s.Description = f.doc
		return s
	}
	s := valueSchema(f.typ)
	if f.sections() {
		s.AdditionalProperties = sectionSchema(f.typ.Elem(), nil)
	}
	s.Description = f.doc
	for _, word := range f.enum {
		s.Enum = append(s.Enum, word)
	}
	if value != nil {
		if data, err := json.Marshal(value); err == nil {
			s.Default = data
		}
	}
	return s
}

func valueSchema(typ reflect.Type) *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	switch typ.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	case reflect.Map:
		if typ.Elem().Kind() == reflect.String {
			return &jsonschema.Schema{Type: "object", AdditionalProperties: text}
		}
		return &jsonschema.Schema{Type: "object"}
	case reflect.Slice:
		list := &jsonschema.Schema{Type: "array", Items: text}
		if typ == reflect.TypeFor[Keys]() {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, list}}
		}
		return list
	}
	return text
}
