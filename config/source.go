package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/internal/spelling"
)

// source is a source of settings, as a tree of plain values.
type source struct {
	name    string
	tree    map[string]any
	trusted bool           // belongs to the user, not to the repository
	lines   map[string]int // dotted key → line, if the source has lines
}

// check returns the part of the tree that applies, and a problem for each other key.
func (s source) check(root field) (map[string]any, []Problem) {
	c := checker{source: s.renamed()}
	clean := c.section("", root, c.tree)
	return clean, c.problems
}

// renamed moves the value of the editors' alias to its key.
func (s source) renamed() source {
	python, ok := s.tree["python"].(string)
	if !ok {
		return s
	}
	tree := map[string]any{}
	merge(tree, map[string]any{"code_execution": map[string]any{"python": python}})
	merge(tree, s.tree)
	delete(tree, "python")
	s.tree = tree
	return s
}

type checker struct {
	source
	problems []Problem
}

func (c *checker) problem(key, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Source: c.name, Line: c.lines[key], Text: shorten.Start(key, 200) + " " + fmt.Sprintf(format, args...),
	})
}

func (c *checker) section(prefix string, section field, tree map[string]any) map[string]any {
	clean := map[string]any{}
	for _, name := range sortedKeys(tree) {
		key := prefix + name
		f, ok := named(section.keys, name)
		if !ok && c.trusted && (ofHermes(prefix, name) || c.tree[hermesVersion] != nil && nearestName(name, section.keys) == "") {
			continue // newer versions of Hermes Agent have more keys than the list
		}
		if !ok {
			c.problem(key, "is an unknown key%s; it is ignored", nearest(name, section.keys))
			continue
		}
		if value, ok := c.field(key, f, tree[name]); ok {
			clean[name] = value
		}
	}
	return clean
}

func (c *checker) field(key string, f field, value any) (any, bool) {
	if value == nil { // "model:" with nothing below it
		return nil, false
	}
	if f.section() {
		tree, ok := value.(map[string]any)
		if !ok {
			return c.guards(key, f, value)
		}
		return c.section(key+".", f, tree), true
	}
	if !c.trusted && !f.harmless {
		c.problem(key, "is ignored here: a repository may not set it; set it in your own config.yaml")
		return nil, false
	}
	if text, ok := value.(string); ok && !c.trusted && f.plain && !plainName(text) {
		c.problem(key, "is ignored: in a repository it must be at most %d letters, digits and any of %s", longestName, nameSigns)
		return nil, false
	}
	if f.sections() {
		return c.sections(key, f, value)
	}
	if f.guard != "" && f.typ.Kind() == reflect.Slice && value != "" {
		return c.guardedList(key, f, value), true
	}
	out, want := convert(f, value)
	if want != "" && f.guard != "" && value != "" {
		return c.guarded(key, f, value), true
	}
	if want != "" {
		c.problem(key, "must be %s, not %s; it is ignored", want, found(value))
		return nil, false
	}
	return out, true
}

const (
	longestName = 200
	nameSigns   = "_ . / : @ + -"
)

// plainName reports whether a text from a repository can be the name of a model. Such a name is
// shown in status bars, and some of them run commands in a text.
func plainName(text string) bool {
	odd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_./:@+-", r))
	}
	return len(text) <= longestName && !strings.ContainsFunc(text, odd)
}

// guarded reports a wrong value of a guarded field and returns its replacement.
func (c *checker) guarded(key string, f field, value any) any {
	if f.typ.Kind() == reflect.Bool {
		c.problem(key, "is %s; it must be true or false. Until then %s", shown(value), f.guard)
		return f.safe == "true"
	}
	if f.typ.Kind() == reflect.Map {
		c.problem(key, "must be a mapping of names to texts. Until then %s", f.guard)
		return texts(value)
	}
	known := slices.DeleteFunc(slices.Clone(f.enum), func(word string) bool { return word == "" })
	if f.provider {
		known = knownProviders(nil)
	}
	c.problem(key, "is %s, which is not known; known are %s. Until then %s", shown(value), strings.Join(known, ", "), f.guard)
	return firstOf(f.safe, unknownValue(value))
}

// texts returns the texts among a mapping's members. For other values, it returns none.
func texts(value any) map[string]any {
	all, _ := value.(map[string]any)
	kept := map[string]any{}
	for name, member := range all {
		if _, ok := member.(string); ok {
			kept[name] = member
		}
	}
	return kept
}

// guardedList returns the texts of a guarded list. A single text is a list with a single item.
// Other values are reported, and the field's safe text applies instead.
func (c *checker) guardedList(key string, f field, value any) []any {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	texts, right := []any{}, isList
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
			continue
		}
		right = false
		if f.safe != "" {
			texts = append(texts, f.safe)
		}
	}
	if !right {
		c.problem(key, "must be a list of texts. Until then %s", f.guard)
	}
	return texts
}

// guards reports a wrong value in place of a section. It returns the replacements for the section's
// guarded fields.
func (c *checker) guards(key string, section field, value any) (any, bool) {
	clean := map[string]any{}
	var then []string
	for _, f := range section.keys {
		if f.guard == "" || !c.trusted || f.typ.Kind() == reflect.Slice || f.typ.Kind() == reflect.Map {
			continue
		}
		then = append(then, f.guard)
		if clean[f.name] = firstOf(f.safe, kindOf(value)); f.typ.Kind() == reflect.Bool {
			clean[f.name] = f.safe == "true"
		}
	}
	if len(then) == 0 {
		c.problem(key, "must hold keys, not %s; it is ignored", found(value))
		return nil, false
	}
	c.problem(key, "must hold keys, not %s. Until then %s", found(value), strings.Join(then, ", "))
	return clean, true
}

// unknownValue returns a wrong value as an invalid text.
func unknownValue(value any) string {
	switch value := value.(type) {
	case string:
		if text := strings.TrimSpace(value); len(text) <= longestShown {
			return value
		}
		return kindOf(value)
	case map[string]any, []any:
		return kindOf(value)
	}
	return fmt.Sprint(value)
}

const longestShown = 40 // bytes; a longer text could be a secret in the wrong place

func shown(value any) string { return fmt.Sprintf("%q", unknownValue(value)) }

// sections checks a mapping of sections with user-chosen names.
func (c *checker) sections(key string, f field, value any) (any, bool) {
	tree, ok := value.(map[string]any)
	if !ok {
		c.problem(key, "must hold a mapping for each name, not %s; it is ignored", found(value))
		return nil, false
	}
	clean := map[string]any{}
	for _, name := range sortedKeys(tree) {
		section, ok := tree[name].(map[string]any)
		if !ok && !(c.trusted && ofHermes(key+".", name)) {
			c.problem(key+"."+name, "must hold keys, not %s; it is ignored", found(tree[name]))
		}
		if !ok {
			continue
		}
		clean[name] = c.section(key+"."+name+".", f.elem(), section)
	}
	return clean, true
}

// convert returns value in the field's type. If it cannot, it returns a description of the type.
func convert(f field, value any) (out any, want string) {
	switch f.typ.Kind() {
	case reflect.String:
		return convertString(f, value)
	case reflect.Bool:
		if b, ok := boolOf(value); ok {
			return b, ""
		}
		return nil, "true or false"
	case reflect.Int:
		n, ok := number(value)
		if !ok || n != math.Trunc(n) || n < 0 {
			return nil, "a whole number, 0 or more"
		}
		return int(n), ""
	case reflect.Float64:
		if _, ok := number(value); !ok {
			return nil, "a number"
		}
	case reflect.Slice:
		return convertList(f, value)
	case reflect.Map:
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, "a mapping"
		}
		if f.typ.Elem().Kind() == reflect.String {
			return convertTexts(fields)
		}
	}
	return value, ""
}

// boolOf also accepts the spellings of YAML 1.1 for true and false.
func boolOf(value any) (b, ok bool) {
	switch value := value.(type) {
	case bool:
		return value, true
	case string:
		switch strings.ToLower(value) {
		case "on", "yes", "true":
			return true, true
		case "off", "no", "false":
			return false, true
		}
	}
	return false, false
}

func convertString(f field, value any) (any, string) {
	text, ok := value.(string)
	if b, isBool := value.(bool); isBool && (f.loose || slices.Contains(f.enum, strconv.FormatBool(b))) {
		text, ok = strconv.FormatBool(b), true
	} else if isBool && f.enum != nil && !b {
		text, ok = "off", true // YAML 1.1 habits: `mode: off`
	}
	if !ok {
		if f.enum != nil {
			return nil, oneOf(f.enum)
		}
		return nil, "text"
	}
	if f.enum != nil && !slices.Contains(f.enum, text) {
		return nil, oneOf(f.enum) + nearestValue(text, f.enum)
	}
	return text, ""
}

// oneOf lists the values of a field. The empty value means none.
func oneOf(values []string) string {
	return "one of " + strings.TrimPrefix(strings.Join(values, ", "), ", ")
}

// nearestValue suggests a value for a misspelled text. If none is similar, it returns "".
func nearestValue(text string, values []string) string {
	best := spelling.Nearest(text, values)
	asks := slices.Contains(values, "ask") // the mode of approvals
	switch strings.ToLower(text) {
	case "none", "never", "disabled", "disable":
		best = "off"
	case "yolo", "auto", "always":
		if asks {
			best = "off"
		}
	}
	if best == "" || !slices.Contains(values, best) {
		return ""
	}
	return " (did you mean " + best + "?)"
}

func convertList(f field, value any) (any, string) {
	if text, ok := value.(string); ok && f.typ == typeOfKeys {
		return text, ""
	} else if ok && f.loose {
		value = []any{text}
	}
	list, ok := value.([]any)
	if f.typ == typeOfModels {
		return convertModels(value, list)
	}
	if !ok {
		return nil, "a list of texts"
	}
	texts := make([]any, len(list))
	for i, item := range list {
		if texts[i], ok = asText(item); !ok {
			return nil, fmt.Sprintf("a list of texts (put item %d in quotes)", i+1)
		}
	}
	return texts, ""
}

// convertTexts accepts a mapping of names to texts. A name without a value is left out.
func convertTexts(fields map[string]any) (any, string) {
	texts := map[string]any{}
	for name, value := range fields {
		text, ok := asText(value)
		if value != nil && !ok {
			return nil, fmt.Sprintf("names with texts (put the value of %s in quotes)", name)
		}
		if ok {
			texts[name] = text
		}
	}
	return texts, ""
}

// asText returns a text, a whole number or a boolean as text. The text of other numbers is lost:
// 1.10 is 1.1.
func asText(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case bool, int, int64, uint64:
		return fmt.Sprint(value), true
	}
	return "", false
}

// convertModels accepts a single model as a list with one item.
func convertModels(value any, list []any) (any, string) {
	if list == nil {
		list = []any{value}
	}
	if data, err := json.Marshal(list); err != nil || json.Unmarshal(data, new(Models)) != nil {
		return nil, "a list of models, each MODEL, PROVIDER/MODEL or {provider: NAME, model: MODEL}"
	}
	return list, ""
}

func number(value any) (float64, bool) {
	switch n := value.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// found returns a wrong value for a message. It describes lists, mappings and texts over 20
// bytes, which could be secrets in the wrong place.
func found(value any) string {
	switch v := value.(type) {
	case string:
		if len(v) <= 20 {
			return strconv.Quote(v)
		}
		return kindOf(value)
	case nil, map[string]any, []any:
		return kindOf(value)
	}
	return fmt.Sprint(value)
}

// kindOf describes a value without showing it: it could be a secret in the wrong place.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "nothing"
	case string:
		return "the text given"
	case bool:
		return "true or false"
	case map[string]any:
		return "a mapping"
	case []any:
		return "the list given"
	}
	return "the number given"
}

// nearest suggests a key with a spelling similar to name.
func nearest(name string, fields []field) string {
	if best := nearestName(name, fields); best != "" {
		return " (did you mean " + best + "?)"
	}
	return ""
}

// nearestName returns the name of the field that name is most likely a misspelling of, or "".
func nearestName(name string, fields []field) string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].name
	}
	return spelling.Nearest(name, names)
}

func sortedKeys(tree map[string]any) []string {
	keys := make([]string, 0, len(tree))
	for key := range tree {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
