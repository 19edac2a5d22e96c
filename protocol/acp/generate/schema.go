package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// schema is the official schema.
type schema struct {
	defs map[string]*definition
}

// definition is the part of a JSON Schema for the generator.
type definition struct {
	Ref         string          `json:"$ref"`
	Description string          `json:"description"`
	Type        any             `json:"type"` // a name, or a list of names
	Default     json.RawMessage `json:"default"`
	Properties  properties      `json:"properties"`
	Required    []string        `json:"required"`
	Items       *definition     `json:"items"`
	Additional  json.RawMessage `json:"additionalProperties"`
	AllOf       []*definition   `json:"allOf"`
	AnyOf       []*definition   `json:"anyOf"`
	OneOf       []*definition   `json:"oneOf"`
}

type property struct {
	name     string
	def      *definition
	required bool
}

// properties keeps the order of the file.
type properties []property

func (p *properties) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		def := new(definition)
		if err := d.Decode(def); err != nil {
			return err
		}
		*p = append(*p, property{name: name.(string), def: def})
	}
	return nil
}

func find(list []property, name string) *property {
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	return nil
}

func readSchema(path string) (*schema, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	var file struct {
		Defs map[string]*definition `json:"$defs"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return &schema{file.Defs}, nil
}

// resolve follows references, also in an allOf with a single element.
func (s *schema) resolve(d *definition) (name string, def *definition) {
	for {
		switch {
		case d.Ref != "":
			name = strings.TrimPrefix(d.Ref, "#/$defs/")
			d = s.defs[name]
		case len(d.AllOf) == 1 && len(d.Properties) == 0:
			d = d.AllOf[0]
		default:
			return name, d
		}
	}
}

// properties returns the properties of an object or, for a union, of all variants. A property is
// required if all variants require it.
func (s *schema) properties(d *definition) []property {
	var all []property
	add := func(list []property) {
		for _, p := range list {
			if find(all, p.name) == nil {
				all = append(all, p)
			}
		}
	}
	for _, p := range d.Properties {
		p.required = slices.Contains(d.Required, p.name)
		add([]property{p})
	}
	for _, part := range d.AllOf {
		_, def := s.resolve(part)
		add(s.properties(def))
	}
	for _, union := range [][]*definition{d.OneOf, d.AnyOf} {
		var variants [][]property
		for _, v := range union {
			_, def := s.resolve(v)
			variants = append(variants, s.properties(def))
		}
		for _, list := range variants {
			for i := range list {
				for _, other := range variants {
					o := find(other, list[i].name)
					list[i].required = list[i].required && o != nil && o.required
				}
			}
			add(list)
		}
	}
	return all
}

// goType returns the Go type of a property. always: it is written also if it is zero.
func (t *table) goType(s *schema, d *definition, always bool) (string, error) {
	if len(d.AnyOf) == 2 && d.AnyOf[1].Type == "null" {
		d = d.AnyOf[0]
	}
	name, def := s.resolve(d)
	if typ := t.bySchema[name]; typ != "" {
		if always {
			return typ, nil
		}
		return "*" + typ, nil
	}
	if typ := t.scalars[name]; typ != "" {
		return typ, nil
	}
	switch kind := kindOf(def); kind {
	case "string", "boolean", "integer", "number":
		return map[string]string{"string": "string", "boolean": "bool", "integer": "int", "number": "float64"}[kind], nil
	case "array":
		elem, err := t.goType(s, def.Items, true)
		if always {
			return "List[" + elem + "]", err
		}
		return "[]" + elem, err
	case "object":
		switch {
		case len(def.Properties) == 0 && def.Additional == nil, len(def.Properties) == 1 && def.Properties[0].name == "_meta":
			return "*Supported", nil
		case len(def.Properties) == 0 && string(def.Additional) == "true":
			return "Meta", nil
		}
	case "":
		return "json.RawMessage", nil
	}
	return "", errors.New("types.txt has no Go type for " + name)
}

// kindOf returns the type of a definition without null. An enumeration of strings is a
// string. If the schema allows any value, it is empty.
func kindOf(d *definition) string {
	switch typ := d.Type.(type) {
	case string:
		return typ
	case []any:
		for _, t := range typ {
			if t != "null" {
				return t.(string)
			}
		}
	}
	for _, union := range [][]*definition{d.OneOf, d.AnyOf} {
		if len(union) > 0 && union[0].Type == "string" {
			return "string"
		}
		if len(union) > 0 {
			return "union"
		}
	}
	return ""
}
