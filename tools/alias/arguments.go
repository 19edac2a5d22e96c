package alias

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Call is a call whose tool was found.
type Call struct {
	Tool string         // our name
	Via  string         // the name that the model used
	Args map[string]any // as decoded with json.Number; Translate changes it

	notes   []string
	problem string
}

// Translate gives the arguments our names and shapes, where only one reading is possible.
// known reports whether a tool has a parameter. It returns a note that names
// the translations, or a problem that leaves nothing to run.
func (c *Call) Translate(known func(tool, param string) bool) (note, problem string) {
	c.retarget()
	if c.Tool != c.Via {
		c.notes = append(c.notes, c.Via+" is "+c.Tool)
	}
	if fix := early[c.Tool]; fix != nil {
		fix(c)
	}
	c.rename(known)
	if fix := fixes[c.Tool]; fix != nil {
		fix(c)
	}
	for name := range c.Args {
		if !known(c.Tool, name) && ignored(c.Tool, name) {
			delete(c.Args, name)
		}
	}
	if len(c.notes) > 0 {
		note = "here " + strings.Join(c.notes, ", ")
	}
	return note, c.problem
}

// rename gives parameters our names. One that is given twice stays, unless both are equal.
func (c *Call) rename(known func(tool, param string) bool) {
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		ours, ok := param(c.Tool, name)
		if !ok || known(c.Tool, name) || !known(c.Tool, ours) {
			continue
		}
		if have, given := c.Args[ours]; given && fmt.Sprint(have) != fmt.Sprint(c.Args[name]) {
			continue
		}
		if c.Tool == terminal && strings.HasSuffix(strings.ToLower(name), "ms") {
			c.Args[name] = milliseconds(c.Args[name])
		}
		c.Args[ours] = c.Args[name]
		delete(c.Args, name)
		c.notes = append(c.notes, name+" is "+ours)
	}
}

// fail sets the problem that the model is told.
func (c *Call) fail(format string, args ...any) { c.problem = fmt.Sprintf(format, args...) }

// text returns a parameter that is a string.
func (c *Call) text(name string) string {
	s, _ := c.Args[name].(string)
	return s
}

// take removes parameters and returns the value of the first one that was given.
func (c *Call) take(names ...string) (value any, ok bool) {
	for _, name := range names {
		if v, given := c.Args[name]; given {
			if !ok {
				value, ok = v, true
			}
			delete(c.Args, name)
		}
	}
	return value, ok
}

// isTrue reads a boolean, also one in quotes.
func isTrue(v any) bool { return v == true || strings.EqualFold(fmt.Sprint(v), "true") }

// isFalse is true for false, also in quotes. An absent value is not false.
func isFalse(v any) bool { return v == false || strings.EqualFold(fmt.Sprint(v), "false") }

// strs returns a list whose items are all strings.
func strs(v any) (list []string, ok bool) {
	items, ok := v.([]any)
	if !ok || len(items) == 0 {
		return nil, false
	}
	for _, item := range items {
		s, isText := item.(string)
		if !isText {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

// object returns an item of a list as an object. A string is the field name of one.
func object(v any, name string) (map[string]any, bool) {
	if s, ok := v.(string); ok {
		return map[string]any{name: s}, true
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// renamed gives fields of an object other names. The first one that is given counts.
func renamed(m map[string]any, ours string, names ...string) {
	for _, name := range names {
		if v, ok := m[name]; ok {
			if _, have := m[ours]; !have {
				m[ours] = v
			}
			delete(m, name)
		}
	}
}

// viaIs reports whether the model's name of the tool, without a namespace, is one of names.
func (c *Call) viaIs(names ...string) bool {
	return slices.Contains(names, plain(cmp.Or(withoutSpace(c.Via), c.Via)))
}

// Raw reads arguments that are the text of a parameter instead of JSON.
func Raw(tool, text string) (args map[string]any, ok bool) {
	if text = strings.TrimSpace(text); tool == patching && strings.HasPrefix(text, "*** Begin Patch") {
		return map[string]any{"patch": text}, true
	}
	return nil, false
}
