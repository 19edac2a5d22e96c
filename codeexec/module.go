package codeexec

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed python/hermes_tools.py
var moduleSource string

//go:embed python/start.py
var startSource string

//go:embed python/kernel.py
var kernelSource string

// functions returns the tools that this session's scripts may call: its tools with the property
// Script.
func functions(env *tools.Env) []tools.Tool {
	return slices.DeleteFunc(env.Dispatch.List(), func(t tools.Tool) bool { return t.Script == "" })
}

// usages lists the functions for the description of execute_code.
func usages(offered []tools.Tool) string {
	var b strings.Builder
	for _, t := range offered {
		if t.Script != "" {
			fmt.Fprintf(&b, "- %s%s\n", t.Name, t.Script)
		}
	}
	return b.String()
}

// module returns the source of the Python module hermes_tools with these functions.
func module(functions []tools.Tool) (string, error) {
	var b strings.Builder
	b.WriteString(moduleSource)
	for _, f := range functions {
		text, err := pythonOf(f)
		if err != nil {
			return "", fmt.Errorf("writing the function %s of hermes_tools: %w", f.Name, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// pythonOf returns the Python source of a tool's function. Type hints and docstring come from the
// schema. An optional parameter defaults to None, which is not sent.
func pythonOf(t tools.Tool) (string, error) {
	parameters, err := parametersOf(t.Schema)
	if err != nil {
		return "", err
	}
	var signature, sent []string
	doc := firstSentence(t.Description) + "\n\n" + t.Name + t.Script + "\n"
	for _, p := range parameters {
		hint := "object"
		if name, ok := p.Type.(string); ok {
			hint = hints[name]
		}
		if !p.required {
			hint = fmt.Sprintf(`"%s | None" = None`, hint)
		}
		signature = append(signature, p.name+": "+hint)
		sent = append(sent, fmt.Sprintf("%q: %s", p.name, p.name))
		if p.Description != "" {
			doc += "\n" + p.name + ": " + p.Description
		}
	}
	doc = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(strings.TrimSpace(doc))
	return fmt.Sprintf("\n\ndef %s(%s) -> dict:\n    \"\"\"%s\"\"\"\n    return _call(%q, {%s})\n",
		t.Name, strings.Join(signature, ", "), doc, t.Name, strings.Join(sent, ", ")), nil
}

// hints are Python's names for the types of JSON schemas.
var hints = map[string]string{
	"string": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list", "object": "dict",
}

// parameter is a property of a tool's schema.
type parameter struct {
	name        string
	required    bool
	Type        any // a name, or several
	Description string
}

// parametersOf returns the properties of a schema in the order of its text. Required parameters
// come first, because Python needs this order.
func parametersOf(schema json.RawMessage) (list []parameter, err error) {
	var s struct {
		Properties json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(schema, &s); err != nil || len(s.Properties) == 0 {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	_, err = d.Token()
	for err == nil && d.More() {
		var name json.Token
		var p parameter
		if name, err = d.Token(); err == nil {
			err = d.Decode(&p)
		}
		p.name = fmt.Sprint(name)
		p.required = slices.Contains(s.Required, p.name)
		list = append(list, p)
	}
	slices.SortStableFunc(list, func(a, b parameter) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return list, err
}

// firstSentence returns the beginning of a tool's description, up to its first full stop,
// line break or condition.
func firstSentence(text string) string {
	for _, end := range []string{"\n", "{{", ". "} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimSuffix(strings.TrimSpace(text), ".") + "."
}
