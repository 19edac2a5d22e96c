package alias

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Call is a call whose tool was found.
type Call struct {
	Tool string         // our name
	Via  string         // the name used by the model
	Args map[string]any // as decoded with json.Number; Translate changes it

	notes   []string
	problem string
}

// Translate changes the arguments to our names and shapes, where only one reading is possible.
// known reports whether a tool has a parameter. allowed reports whether a value is in a parameter's
// list; without a list, it returns true. Translate returns a note with the translations, or a
// problem if nothing is left to run.
func (c *Call) Translate(known func(tool, param string) bool, allowed func(tool, param, value string) bool) (note, problem string) {
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
	c.values(known, allowed)
	c.leaveOut(known)
	if len(c.notes) > 0 {
		note = "here " + strings.Join(c.notes, ", ")
	}
	return note, c.problem
}

// values changes values of a parameter's list to our names.
func (c *Call) values(known func(tool, param string) bool, allowed func(tool, param, value string) bool) {
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		given := c.text(name)
		if given == "" || !known(c.Tool, name) || allowed(c.Tool, name, given) {
			continue
		}
		if ours, ok := value(c.Tool, name, given); ok {
			c.Args[name] = ours
			c.notes = append(c.notes, fmt.Sprintf("%s=%s is %s", name, given, ours))
		}
	}
}

// leaveOut drops parameters without effect. A parameter without a counterpart is a problem.
func (c *Call) leaveOut(known func(tool, param string) bool) {
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		advice := adviceFor(c.Tool, name)
		switch {
		case known(c.Tool, name):
		case ignored(c.Tool, name), advice != "" && isNothing(c.Args[name]):
			delete(c.Args, name)
		case advice != "" && c.problem == "":
			c.fail("%s has no parameter %q. Nothing was done. %s", c.Tool, name, advice)
		}
	}
}

// isNothing reports whether other agents send v to mean nothing.
func isNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// ownSpelling returns our parameter for another spelling of its name, such as "Path" or " path:",
// or "".
func (c *Call) ownSpelling(name string, known func(tool, param string) bool) string {
	bare := strings.Trim(name, " \t\r\n:=\"'`<>$-")
	for _, candidate := range []string{bare, strings.ToLower(bare), snake(bare)} {
		if candidate != name && candidate != "" && known(c.Tool, candidate) {
			return candidate
		}
	}
	return ""
}

// rename changes parameters to our names. If a parameter is given twice with different values, both
// stay.
func (c *Call) rename(known func(tool, param string) bool) {
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		if known(c.Tool, name) {
			continue
		}
		ours := c.ownSpelling(name, known)
		if ours == "" {
			ours, _ = param(c.Tool, name)
		}
		if !known(c.Tool, ours) {
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

// fail sets the problem shown to the model.
func (c *Call) fail(format string, args ...any) { c.problem = fmt.Sprintf(format, args...) }

// text returns a string parameter.
func (c *Call) text(name string) string {
	s, _ := c.Args[name].(string)
	return s
}

// take removes parameters and returns the value of the first given parameter.
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

// isTrue reads a boolean, quoted or not.
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

// ListIn returns the list inside an object: the list in its only field, such as {"items": […]}, or
// the values of {"0": …, "1": …}.
func ListIn(m map[string]any) (list []any, ok bool) {
	if len(m) == 1 {
		for _, v := range m {
			if list, ok = v.([]any); ok {
				return list, true
			}
		}
	}
	for i := range len(m) {
		v, ok := m[strconv.Itoa(i)]
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, len(list) > 0
}

// object returns an item of a list as an object. A string becomes the value of field name.
func object(v any, name string) (map[string]any, bool) {
	if s, ok := v.(string); ok {
		return map[string]any{name: s}, true
	}
	m, ok := v.(map[string]any)
	return m, ok
}

// renamed renames fields of an object. The first given name wins.
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

// viaIs reports whether names contains the model's name of the tool, without a namespace.
func (c *Call) viaIs(names ...string) bool {
	return slices.Contains(names, plain(cmp.Or(withoutSpace(c.Via), c.Via)))
}

// Raw reads arguments given as plain text of a parameter instead of JSON.
func Raw(tool, text string) (args map[string]any, ok bool) {
	if text = strings.TrimSpace(text); tool == patching && strings.HasPrefix(text, "*** Begin Patch") {
		return map[string]any{"patch": text}, true
	}
	return nil, false
}
