package embedded

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// edit is one change of one line of a document, with the reason.
type edit struct {
	path     string
	line     int // from 1
	old, new string
	why      string
}

// mends are the bugs that this model can see: each looks at one function.
var mends = [...]func(lines []string, def definition) (at int, changed, why string, ok bool){
	takenOffTwice, boundaryMissed, signTurned,
}

// mend looks for a bug in the functions that the failing tests call, first failure
// first.
func mend(r run, test document, sources []document) (edit, bool) {
	for _, f := range r.failures {
		called := bodyOf(test, f.test)
		for _, src := range sources {
			for _, def := range outline(src) {
				if !calls(called, def.name) {
					continue
				}
				for _, m := range mends {
					if at, changed, why, ok := m(src.lines, def); ok {
						return edit{src.path, at + 1, src.lines[at], changed, why}, true
					}
				}
			}
		}
	}
	return edit{}, false
}

// bodyOf is the text of a test function.
func bodyOf(test document, name string) string {
	for _, def := range outline(test) {
		if def.name == name {
			return strings.Join(test.lines[def.first:def.end], "\n")
		}
	}
	return ""
}

// calls tells whether code mentions name as a call, also as package.Name(.
func calls(code, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\(`).MatchString(code)
}

var shrink = pattern(`^\s*(\w+) -= (\w+) \* (\w+)\s*$`)

// takenOffTwice: "x -= x * d", and then once more "x * (1 - d)".
func takenOffTwice(lines []string, def definition) (int, string, string, bool) {
	for i := def.first; i < def.end; i++ {
		m := shrink().FindStringSubmatch(lines[i])
		if m == nil || m[1] != m[2] {
			continue
		}
		again := fmt.Sprintf("%s * (1 - %s)", m[1], m[3])
		for j := i + 1; j < def.end; j++ {
			if strings.Contains(lines[j], again) {
				why := fmt.Sprintf("`%s` takes `%s` off twice: line %d has done it already, and line %d does it again", def.name, m[3], i+1, j+1)
				return j, strings.Replace(lines[j], again, m[1], 1), why, true
			}
		}
	}
	return 0, "", "", false
}

var (
	promised = pattern(`(?i)\bfrom ([\d.]*\d) (?:on|upwards)\b|\bat least ([\d.]*\d)`)
	above    = pattern(`> ([\d.]*\d)`)
)

// boundaryMissed: the docstring says "from N on", the code "> N".
func boundaryMissed(lines []string, def definition) (int, string, string, bool) {
	m := promised().FindStringSubmatch(def.doc)
	if m == nil {
		return 0, "", "", false
	}
	bound, err := strconv.ParseFloat(m[1]+m[2], 64)
	if err != nil {
		return 0, "", "", false
	}
	for i := def.first + 1; i < def.end; i++ {
		code := above().FindStringSubmatch(lines[i])
		if code == nil || docstring().MatchString(lines[i]) {
			continue
		}
		if n, err := strconv.ParseFloat(code[1], 64); err == nil && n == bound {
			why := fmt.Sprintf("`%s` promises “%s”, but line %d asks for more than that: `%s`", def.name, m[0], i+1, code[0])
			return i, strings.Replace(lines[i], code[0], ">= "+code[1], 1), why, true
		}
	}
	return 0, "", "", false
}

var (
	addsByName = pattern(`(?i)^(add|sum|plus)`)
	difference = pattern(`return (\w+) - (\w+)`)
)

// signTurned: a function named add that subtracts.
func signTurned(lines []string, def definition) (int, string, string, bool) {
	if !addsByName().MatchString(def.name) {
		return 0, "", "", false
	}
	for i := def.first; i < def.end; i++ {
		if m := difference().FindStringSubmatch(lines[i]); m != nil {
			why := fmt.Sprintf("`%s` subtracts in line %d, although its name says that it adds", def.name, i+1)
			return i, strings.Replace(lines[i], m[0], "return "+m[1]+" + "+m[2], 1), why, true
		}
	}
	return 0, "", "", false
}

// call is the patch for an edit. Its old text is long enough to occur only once.
func (e edit) call(d document) step {
	from, to := e.line-1, e.line
	for from > 0 && strings.Count(d.text(), strings.Join(d.lines[from:to], "\n")) > 1 {
		from--
	}
	before := strings.Join(d.lines[from:e.line-1], "\n")
	if before != "" {
		before += "\n"
	}
	return callTool("patch", map[string]any{"path": e.path, "old_string": before + e.old, "new_string": before + e.new})
}
