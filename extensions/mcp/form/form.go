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
	"github.com/hermes-ls/hermes-ls/tools"
)

// Field is a field of a form.
type Field struct {
	Name, Title string
	Text        string   // the question
	Choices     []string // labels; empty: a text
	Required    bool

	description string

	kind   string
	values map[string]any // of the labels
	schema *jsonschema.Resolved
	limits limits
}

// Parse converts an answer to the field's type. An unparsable answer stays a text, which does not
// fit.
func (f Field) Parse(answer string) any {
	if value, ok := f.values[answer]; ok && f.kind != "array" {
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
			one = strings.TrimSpace(one)
			if value, ok := f.values[one]; ok {
				list = append(list, value)
			} else {
				list = append(list, one)
			}
		}
		return list
	}
	return answer
}

const mostChoices = 5 // with “Leave out” six, the number shown by hosts

// Fields returns the fields of a form's schema, in its order.
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
	for _, name := range tools.FormFields(data) {
		f := Field{Name: name, Required: slices.Contains(form.Required, name)}
		if err := f.read(form.Properties[name]); err != nil {
			return nil, fmt.Errorf("the field %q: %w", clean.Line(name, 60), err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// read reads the schema of a field.
func (f *Field) read(data json.RawMessage) error {
	var s struct {
		choices
		Type, Title, Description string
		Default                  any
		Items                    choices
	}
	var schema jsonschema.Schema
	err := json.Unmarshal(data, &s)
	if err == nil {
		err = json.Unmarshal(data, &schema)
	}
	if err == nil {
		f.schema, err = schema.Resolve(nil)
	}
	if err == nil {
		err = json.Unmarshal(data, &f.limits)
	}
	if err != nil {
		return err
	}
	f.description = clean.Line(s.Description, 4000)
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
	s.each(add)
	if s.Type == "array" {
		s.Items.each(add)
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
		lines = append(lines, "Suggested: "+f.label(s.Default))
	}
	if len(f.Choices) > mostChoices && s.Type != "array" {
		lines, f.Choices = append(lines, "One of: "+strings.Join(f.Choices, ", ")), nil
	}
	if s.Type == "array" {
		lines = append(lines, severalOf(f.Choices))
		f.Choices = nil
	}
	if !f.Required && len(f.Choices) == 0 {
		lines = append(lines, "Answer - to leave it out.")
	}
	f.Text = strings.Join(lines, "\n")
	return nil
}

// choices are the values allowed by a schema, with their titles, in any form of the protocol.
type choices struct {
	Enum         []any
	EnumNames    []string
	OneOf, AnyOf []struct {
		Const any
		Title string
	}
}

func (c choices) each(add func(label string, value any)) {
	for i, value := range c.Enum {
		label := ""
		if i < len(c.EnumNames) {
			label = c.EnumNames[i]
		}
		add(label, value)
	}
	for _, one := range append(c.OneOf, c.AnyOf...) {
		add(one.Title, one.Const)
	}
}

// label returns a value as the user reads it.
func (f *Field) label(value any) string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var labels []string
	for _, one := range list {
		label := clean.Line(fmt.Sprint(one), 200)
		for _, name := range slices.Sorted(maps.Keys(f.values)) {
			if f.values[name] == one {
				label = name
			}
		}
		labels = append(labels, label)
	}
	return strings.Join(labels, ", ")
}

func severalOf(choices []string) string {
	if len(choices) == 0 {
		return "Separate several values by commas."
	}
	return "Several of these, separated by commas: " + strings.Join(choices, ", ")
}
