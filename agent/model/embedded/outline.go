package embedded

import (
	"strings"
)

// function of a source file, as far as indentation shows it.
type definition struct {
	name  string
	head  string // "def line_total(price, quantity)"
	doc   string // first line of its documentation
	line  int    // from 1
	first int    // index of its first line
	end   int    // index behind its last line
}

var (
	pythonDef = pattern(`^\s*(?:async )?def (\w+)\s*\(.*`)
	otherDef  = pattern(`^(?:pub |export |async |static )*(?:func|fn|function)\b\s*(?:\([^)]*\)\s*)?(\w+)\s*[(\[<].*`)
	docstring = pattern(`^\s*(?:"""|''')(.+?)(?:"""|''')?$`)
)

// outline lists the functions of a text.
func outline(d document) []definition {
	var defs []definition
	for i, line := range d.lines {
		m := pythonDef().FindStringSubmatch(line)
		if m == nil {
			m = otherDef().FindStringSubmatch(line)
		}
		if m == nil {
			continue
		}
		head := strings.TrimSpace(strings.TrimRight(strings.TrimSpace(m[0]), ":{"))
		def := definition{name: m[1], head: head, line: i + 1, first: i, end: endOf(d.lines, i)}
		if i+1 < len(d.lines) {
			if doc := docstring().FindStringSubmatch(d.lines[i+1]); doc != nil {
				def.doc = doc[1]
			}
		}
		if i > 0 && strings.HasPrefix(d.lines[i-1], "//") && def.doc == "" {
			def.doc = strings.TrimSpace(strings.TrimLeft(d.lines[i-1], "/"))
		}
		defs = append(defs, def)
	}
	return defs
}

// endOf is the index behind a function that begins at lines[start]: the next line
// that is indented as little.
func endOf(lines []string, start int) int {
	indent := indentOf(lines[start])
	for i := start + 1; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == "" {
			continue
		}
		if indentOf(lines[i]) <= indent {
			if strings.HasPrefix(strings.TrimSpace(lines[i]), "}") {
				return i + 1
			}
			return i
		}
	}
	return len(lines)
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// summary is the first line of a file's own documentation.
func summary(d document) string {
	for _, line := range d.lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#!") {
			continue
		}
		if m := docstring().FindStringSubmatch(line); m != nil {
			return m[1]
		}
		if text, ok := strings.CutPrefix(line, "//"); ok {
			return strings.TrimSpace(text)
		}
		if strings.HasPrefix(line, "#") {
			continue // a comment that someone has typed above the docstring
		}
		return ""
	}
	return ""
}
