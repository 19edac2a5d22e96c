package config

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Section is a top-level key of config.yaml, owned by a feature.
type Section struct {
	Name string // the key
	Doc  string // a sentence about it
	// Defaults holds the default settings: a struct, or a map of structs under user-chosen names.
	// Its fields have the struct tags of [Config].
	Defaults any
	// Routes returns the models selected by settings, a value of the type of Defaults. Nil: none.
	Routes func(settings any) Routes
}

// Schema describes all keys of config.yaml: the keys of [Config] and the sections of features. It
// never changes and is safe for concurrent use.
type Schema struct {
	root     field
	defaults map[string]any // of each section, by its name
	routes   map[string]func(settings any) Routes
}

// NewSchema returns the schema with the keys of [Config] and the given sections. It panics on
// duplicate names, because the list is part of the program.
func NewSchema(sections ...Section) *Schema {
	s := &Schema{root: field{keys: fieldsOf(reflect.TypeFor[Config]())}, defaults: map[string]any{}, routes: map[string]func(any) Routes{}}
	for _, section := range sections {
		if _, taken := named(s.root.keys, section.Name); taken {
			panic(fmt.Sprintf("two sections of config.yaml are named %s", section.Name))
		}
		s.root.keys = append(s.root.keys, fieldOf(section.Name, section.Doc, reflect.TypeOf(section.Defaults)))
		s.defaults[section.Name] = section.Defaults
		if section.Routes != nil {
			s.routes[section.Name] = section.Routes
		}
	}
	return s
}

// Defaults returns the default of each key, as JSON values.
func (s *Schema) Defaults() map[string]any {
	tree := treeOf(Default())
	for name, value := range treeOf(s.defaults) {
		tree[name] = value
	}
	return tree
}

// treeOf returns plain Go values as JSON values.
func treeOf(value any) map[string]any {
	tree := map[string]any{}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	if err != nil {
		panic(err) // built-in values can be encoded
	}
	return tree
}

// JSON returns the JSON Schema (draft 2020-12) of config.yaml.
func (s *Schema) JSON() json.RawMessage {
	out := sectionSchema(s.root, s.Defaults())
	out.Schema = "https://json-schema.org/draft/2020-12/schema"
	out.Title = "hermes-ls config.yaml"
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		panic(err) // a schema can be encoded
	}
	return data
}

// Key is a key of config.yaml with a value.
type Key struct {
	Name    string // dotted
	Doc     string
	Default string   // as JSON; empty: none
	Values  []string // all valid values; empty: any
	Repo    bool     // a repository may set it
}

// Keys lists the keys with a value, in order.
func (s *Schema) Keys() []Key {
	defaults := s.Defaults()
	var out []Key
	s.root.leaves("", func(name string, f field) {
		out = append(out, Key{name, f.doc, defaultText(defaults, name), f.enum, f.harmless})
		out = append(out, keysBelow(name, f)...)
	})
	return out
}

// keysBelow lists the keys of a field of sections with user-chosen names.
func keysBelow(name string, f field) (out []Key) {
	if !f.sections() {
		return nil
	}
	f.elem().leaves(name+".NAME.", func(name string, f field) {
		out = append(out, Key{name, f.doc, "", f.enum, f.harmless})
		out = append(out, keysBelow(name, f)...)
	})
	return out
}

func defaultText(defaults map[string]any, key string) string {
	value, ok := valueAt(defaults, key)
	if !ok {
		return ""
	}
	data, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(data)
}

func sectionSchema(section field, defaults map[string]any) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, f := range section.keys {
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		s.Properties[f.name] = fieldSchema(f, defaults[f.name])
	}
	return s
}

func fieldSchema(f field, value any) *jsonschema.Schema {
	if f.section() {
		tree, _ := value.(map[string]any)
		s := sectionSchema(f, tree)
		s.Description = f.doc
		return s
	}
	s := valueSchema(f.typ)
	if f.sections() {
		s.AdditionalProperties = sectionSchema(f.elem(), nil)
	}
	if f.loose {
		other := &jsonschema.Schema{Type: "string"}
		if s.Type == "string" {
			other.Type = "boolean"
		}
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, other}}
	}
	s.Description = f.doc
	for _, value := range f.enum {
		s.Enum = append(s.Enum, value)
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
		if typ == typeOfModels {
			list.Items = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, {
				Type: "object", Required: []string{"model"},
				Properties: map[string]*jsonschema.Schema{"provider": text, "model": text},
			}}}
		}
		if typ == typeOfKeys {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, list}}
		}
		return list
	}
	return text
}
