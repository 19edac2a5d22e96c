// Package alias translates calls that models know from other agents into calls of our
// tools. [Tool] finds the tool that a name stands for, and [Arguments] translates the
// arguments. table.txt is the one list of names.
package alias

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed table.txt
var text string

// entry has the parameters of one tool.
type entry struct {
	params  map[string]string // our name, by the other name
	ignored []string
}

// table is the parsed list.
type table struct {
	tools  map[string]string // our tool, by the other name
	plain  map[string]string // the same, by the plain other name
	of     map[string]*entry // by our name
	advice map[string]string // by the plain other name
}

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
	t.of[tool] = &entry{params: map[string]string{}}
	for _, name := range names[1:] {
		t.tools[name], t.plain[plain(name)] = tool, tool
	}
	return tool
}

func (e *entry) add(names []string) {
	if names[0] == "-" {
		e.ignored = append(e.ignored, names[1:]...)
		return
	}
	for _, name := range names[1:] {
		e.params[name] = names[0]
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Tool returns the tool that name stands for, among those that has reports. If there is
// none, it returns advice, which may be empty.
func Tool(name string, has func(tool string) bool) (tool, advice string) {
	t := parsed()
	for _, candidate := range []string{name, withoutSpace(name)} {
		for _, tool := range []string{snake(candidate), t.tools[candidate], t.plain[plain(candidate)]} {
			if tool != "" && has(tool) {
				return tool, ""
			}
		}
	}
	short := withoutSpace(name)
	for _, key := range []string{plain(name), plain(short), plain(t.plain[plain(short)])} {
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
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
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

// Ours reports whether a name is that of a tool of this program in the table.
func Ours(name string) bool { return parsed().of[name] != nil && name != "*" }

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
