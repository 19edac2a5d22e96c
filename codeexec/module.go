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

// scriptTools are the tools that scripts may call if the session offers them, each with
// its signature and its result in the words of execute_code's description.
var scriptTools = []struct{ name, usage string }{
	{"read_file", `(path, offset=1, limit=500) → content ("1|line\n…"), total_lines, truncated, next_offset`},
	{"write_file", `(path, content) → bytes_written, created`},
	{"patch", `(path, old_string, new_string, replace_all=False) → success, diff`},
	{"search_files", `(pattern, target="content", path=".", file_glob=None, limit=50) → matches [{path, line, content}], total_count; target="files" → files`},
	{"terminal", `(command, timeout=None, workdir=None) → output, exit_code; foreground`},
	{"web_search", `(query, limit=5) → data.web [{url, title, description}]`},
	{"web_extract", `(urls, char_limit=None) → results [{url, title, content, error}]`},
}

// function is a tool that a script may call.
type function struct {
	tools.Tool
	usage string
}

// functions returns the tools that a script of this session may call.
func functions(env *tools.Env) []function {
	var list []function
	for _, s := range scriptTools {
		if env.Tools == nil || env.Offered != nil && !env.Offered(s.name) {
			continue
		}
		if t, ok := env.Tools.Get(s.name); ok {
			list = append(list, function{t, s.usage})
		}
	}
	return list
}

// find returns the function of a tool. If there is none, ok is false.
func find(functions []function, tool string) (f function, ok bool) {
	i := slices.IndexFunc(functions, func(f function) bool { return f.Name == tool })
	if i < 0 {
		return function{}, false
	}
	return functions[i], true
}

func namesOf(functions []function) []string {
	names := make([]string, len(functions))
	for i, f := range functions {
		names[i] = f.Name
	}
	return names
}

// usages lists the functions for the description of execute_code, each only where its
// tool is offered.
func usages() string {
	var b strings.Builder
	for _, s := range scriptTools {
		fmt.Fprintf(&b, "{{if offered %q}}- %s%s\n{{end}}", s.name, s.name, s.usage)
	}
	return b.String()
}

// module returns the source of the Python module hermes_tools with these functions.
func module(functions []function) (string, error) {
	var b strings.Builder
	b.WriteString(moduleSource)
	for _, f := range functions {
		text, err := f.python()
		if err != nil {
			return "", fmt.Errorf("writing the function %s of hermes_tools: %w", f.Name, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// python returns the source of a function, with type hints and a docstring from the
// tool's schema. A parameter that can be left out is None by default, which is not sent.
func (f function) python() (string, error) {
	parameters, err := parametersOf(f.Schema)
	if err != nil {
		return "", err
	}
	var signature, sent []string
	doc := firstSentence(f.Description) + "\n\n" + f.Name + f.usage + "\n"
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
		f.Name, strings.Join(signature, ", "), doc, f.Name, strings.Join(sent, ", ")), nil
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

// parametersOf returns the properties of a schema in the order of its text, with the
// required ones first, as Python wants them.
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
