// Package form reads the forms in which servers request values of the user.
package form

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
)

// Field is a field of a form.
type Field struct {
	Name, Title string
	Text        string   // the question
	Choices     []string // labels; empty: a text
	Required    bool

	kind   string
	values map[string]any // of the labels
	schema *jsonschema.Resolved
}

// Validate returns an error if a value does not fit.
func (f Field) Validate(value any) error { return f.schema.Validate(value) }

// Parse returns the value that an answer means. An answer that cannot be parsed stays a text,
// which does not fit.
func (f Field) Parse(answer string) any {
	if value, ok := f.values[answer]; ok {
		return value
	}
	switch f.kind {
	case "number", "integer":
		if n, err := strconv.ParseFloat(answer, 64); err == nil {
			return n
		}
	case "boolean":
		if b, err := strconv.ParseBool(answer); err == nil {
			return b
		}
	case "array":
		list := []any{}
		for one := range strings.SplitSeq(answer, ",") {
			list = append(list, strings.TrimSpace(one))
		}
		return list
	}
	return answer
}

const mostChoices = 5 // with “Leave out”, the six that hosts show

// Fields returns the fields of a form's schema: required ones first, then by name.
func Fields(schema any) ([]Field, error) {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var form struct {
		Required   []string
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, err
	}
	var fields []Field
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		f := Field{Name: name, Required: slices.Contains(form.Required, name)}
		if err := f.read(form.Properties[name]); err != nil {
			return nil, fmt.Errorf("the field %q: %w", clean.Line(name, 60), err)
		}
		fields = append(fields, f)
	}
	slices.SortStableFunc(fields, func(a, b Field) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return fields, nil
}

// read reads the schema of a field.
func (f *Field) read(data json.RawMessage) error {
	var s struct {
		Type, Title, Description string
		Default                  any
		Enum                     []any
		EnumNames                []string
		OneOf                    []struct {
			Const any
			Title string
		}
	}
	var schema jsonschema.Schema
	err := json.Unmarshal(data, &s)
	if err == nil {
		err = json.Unmarshal(data, &schema)
	}
	if err == nil {
		f.schema, err = schema.Resolve(nil)
	}
	if err != nil {
		return err
	}
	f.kind, f.Title, f.values = s.Type, clean.Line(s.Title, 100), map[string]any{}
	if f.Title == "" {
		f.Title = clean.Line(f.Name, 100)
	}
	add := func(label string, value any) {
		if label = clean.Line(label, 100); label == "" {
			label = clean.Line(fmt.Sprint(value), 100)
		}
		f.Choices, f.values[label] = append(f.Choices, label), value
	}
	for i, value := range s.Enum {
		label := ""
		if i < len(s.EnumNames) {
			label = s.EnumNames[i]
		}
		add(label, value)
	}
	for _, one := range s.OneOf {
		add(one.Title, one.Const)
	}
	if s.Type == "boolean" {
		add("Yes", true)
		add("No", false)
	}
	lines := []string{f.Title}
	if s.Description != "" {
		lines = append(lines, clean.Text(s.Description, 500))
	}
	if s.Default != nil {
		lines = append(lines, "Suggested: "+clean.Line(fmt.Sprint(s.Default), 200))
	}
	if len(f.Choices) > mostChoices {
		lines, f.Choices = append(lines, "One of: "+strings.Join(f.Choices, ", ")), nil
	}
	if !f.Required && len(f.Choices) == 0 {
		lines = append(lines, "Answer - to leave it out.")
	}
	f.Text = strings.Join(lines, "\n")
	return nil
}
