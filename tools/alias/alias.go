// Package alias translates other agents' tool calls, which models know, into calls of our tools.
// [Tool] finds the tool for a name, and [Arguments] translates the arguments. table.txt lists all
// names.
package alias

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed table.txt
var text string

// entry holds the parameters of a tool.
type entry struct {
	params  map[string]string            // our name, by the other name
	values  map[string]map[string]string // our value, by our parameter and the plain other value
	advice  map[string]string            // by parameters without a counterpart
	ignored []string
}

// table is the parsed list.
type table struct {
	tools  map[string]string // our tool, by the other name
	plain  map[string]string // the same, by the plain other name
	of     map[string]*entry // by our name
	advice map[string]string // by the plain other name
	likely []likely          // the first match decides
}

// likely maps words of a name, joined by +, to a tool.
type likely struct{ words, tool string }

var parsed = sync.OnceValue(func() *table {
	t := &table{tools: map[string]string{}, plain: map[string]string{}, of: map[string]*entry{}, advice: map[string]string{}}
	block := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			block = ""
		case block == "":
			block = t.begin(line)
		case block == "?":
			advice, names, _ := cutLast(line, ": ")
			for _, name := range strings.Fields(names) {
				t.advice[plain(name)] = advice
			}
		case block == "~":
			names := strings.Fields(line)
			for _, words := range names[1:] {
				t.likely = append(t.likely, likely{words, names[0]})
			}
		case line[0] == '!':
			advice, names, _ := cutLast(strings.TrimSpace(line[1:]), ": ")
			for _, name := range strings.Fields(names) {
				t.of[block].advice[name] = advice
			}
		default:
			t.of[block].add(strings.Fields(line))
		}
	}
	return t
})

// begin adds the first line of a block, and returns the block's name.
func (t *table) begin(line string) string {
	names := strings.Fields(line)
	tool := names[0]
	t.of[tool] = &entry{params: map[string]string{}, values: map[string]map[string]string{}, advice: map[string]string{}}
	for _, name := range names[1:] {
		t.tools[name], t.plain[plain(name)] = tool, tool
	}
	return tool
}

func (e *entry) add(names []string) {
	switch names[0] {
	case "-":
		e.ignored = append(e.ignored, names[1:]...)
	case "=":
		param, value := names[1], names[2]
		if e.values[param] == nil {
			e.values[param] = map[string]string{}
		}
		for _, other := range names[3:] {
			e.values[param][plain(other)] = value
		}
	default:
		for _, name := range names[1:] {
			e.params[name] = names[0]
		}
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Tool returns the tool for name, among the tools for which has returns true. If there is none, it
// returns advice, which may be empty.
func Tool(name string, has func(tool string) bool) (tool, advice string) {
	t := parsed()
	for _, candidate := range []string{name, withoutSpace(name), withoutNoise(name)} {
		for _, tool := range []string{snake(candidate), t.tools[candidate], t.plain[plain(candidate)]} {
			if tool != "" && has(tool) {
				return tool, ""
			}
		}
	}
	short, bare := withoutSpace(name), withoutNoise(name)
	for _, key := range []string{plain(name), plain(short), plain(bare), plain(t.plain[plain(short)]), plain(t.plain[plain(bare)])} {
		if advice = t.advice[key]; key != "" && advice != "" {
			return "", advice
		}
	}
	return "", ""
}

// withoutSpace drops a namespace, as in functions.read_file and default_api:read_file.
func withoutSpace(name string) string {
	name = strings.TrimSuffix(strings.TrimSpace(name), "()")
	if i := strings.LastIndexAny(name, ".:/"); i >= 0 && i+1 < len(name) {
		return name[i+1:]
	}
	return name
}

// snake writes a name as our tools are written: readFile and Read-File are read_file.
func snake(name string) string {
	var b strings.Builder
	before := '_'
	for _, r := range name {
		switch {
		case r == '-' || r == ' ':
			r = '_'
		case unicode.IsUpper(r) && !unicode.IsUpper(before) && before != '_':
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return b.String()
}

// plain is a name without case and separators.
func plain(name string) string {
	return strings.ToLower(separators.Replace(name))
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "", ":", "", "/", "")

// noise are words added by models around a tool name: namespaces, marks of a template, numbers.
var noise = []string{
	"function", "functions", "tool", "tools", "call", "mcp", "filesystem", "default", "api", "builtin", "server", "local", "repo", "browser",
	"channel", "commentary", "analysis", "final", "json", "assistant", "to", "name", "container", "developer", "hermes",
}

// withoutNoise drops the words of [noise] at both ends of a name, as in mcp__filesystem__read_file and read_file_0.
func withoutNoise(name string) string {
	words := strings.FieldsFunc(snake(name), func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	idle := func(word string) bool {
		return slices.Contains(noise, word) || strings.Trim(word, "0123456789") == ""
	}
	for len(words) > 1 && idle(words[0]) {
		words = words[1:]
	}
	for len(words) > 1 && idle(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return strings.Join(words, "_")
}

// Likely guesses the tool of an unknown name by its words. If no words match, it returns "".
func Likely(name string, has func(tool string) bool) string {
	words := strings.FieldsFunc(snake(name), func(r rune) bool { return !unicode.IsLetter(r) })
	for _, row := range parsed().likely {
		all := true
		for word := range strings.SplitSeq(row.words, "+") {
			all = all && slices.Contains(words, word)
		}
		if all && has(row.tool) {
			return row.tool
		}
	}
	return ""
}

// param returns our name of a parameter of a tool. If the table has none, ok is false.
func param(tool, name string) (ours string, ok bool) {
	e := parsed().of[tool]
	if e == nil {
		return "", false
	}
	if ours, ok = e.params[name]; ok {
		return ours, true
	}
	for other, ours := range e.params {
		if plain(other) == plain(name) {
			return ours, true
		}
	}
	return "", false
}

// value returns our name of a parameter's value. If the table has none, ok is false.
func value(tool, param, given string) (ours string, ok bool) {
	e := parsed().of[tool]
	if e == nil {
		return "", false
	}
	ours, ok = e.values[param][plain(given)]
	return ours, ok
}

// adviceFor returns what to do instead of a parameter without a counterpart, or "".
func adviceFor(tool, param string) string {
	if e := parsed().of[tool]; e != nil {
		return e.advice[param]
	}
	return ""
}

// Tools returns the names of our tools.
func Tools() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(parsed().of)), func(name string) bool { return !Ours(name) })
}

// Ours reports whether name is one of our tools in the table.
func Ours(name string) bool {
	return parsed().of[name] != nil && name != "*" && name != "~" && name != "?"
}

// Parameter reports whether a tool accepts a parameter of another agent under this name.
func Parameter(tool, name string) bool {
	_, ok := param(tool, name)
	return ok || ignored(tool, name)
}

// ignored reports whether a parameter changes nothing and can be left out.
func ignored(tool, name string) bool {
	t := parsed()
	if slices.Contains(t.of["*"].ignored, name) {
		return true
	}
	e := t.of[tool]
	return e != nil && slices.Contains(e.ignored, name)
}
