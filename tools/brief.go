package tools

import (
	"encoding/json"
	"slices"
)

// Brief returns the tools for a small context window, with short descriptions and schemas. Tools
// still accept parameters left out of their short schema.
func (s *Set) Brief() *Set {
	brief := s.Where(func(t Tool) bool { return t.Brief != "" })
	for i := range brief.tools {
		t := &brief.tools[i]
		t.Description, t.Describe, t.Advice = t.Brief, nil, ""
		t.Schema = briefSchema(t.Schema, t.BriefParams)
	}
	return brief
}

// briefSchema returns a schema with some of its parameters, without descriptions. If it cannot be
// read, it stays.
func briefSchema(schema json.RawMessage, params []string) json.RawMessage {
	var all struct {
		Type       string                    `json:"type"`
		Properties map[string]map[string]any `json:"properties"`
		Required   []string                  `json:"required,omitempty"`
	}
	if json.Unmarshal(schema, &all) != nil {
		return schema
	}
	for name, p := range all.Properties {
		if !slices.Contains(params, name) {
			delete(all.Properties, name)
			continue
		}
		for key := range p {
			if key != "type" && key != "enum" && key != "items" {
				delete(p, key)
			}
		}
	}
	all.Required = slices.DeleteFunc(all.Required, func(name string) bool { return all.Properties[name] == nil })
	brief, err := json.Marshal(all)
	if err != nil {
		return schema
	}
	return brief
}
