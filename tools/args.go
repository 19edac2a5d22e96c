package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/internal/spelling"
	"github.com/hermes-ls/hermes-ls/tools/alias"
)

// fit checks args, a JSON object, against schema. It corrects a value with a single possible
// meaning: "5" becomes 5 for a number, "true" becomes true, "[…]" becomes a list, and null omits an
// optional parameter. It returns all remaining problems in one error. Arguments without problems
// are returned unchanged.
func fit(schema *jsonschema.Schema, args json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil {
		return nil, err
	}
	f := fitter{}
	fitted := f.object(schema, object, "")
	if err := f.err(); err != nil || !f.changed {
		return args, err
	}
	return Marshal(fitted)
}

// fits reports whether args are a JSON object that fit would return unchanged.
func fits(schema *jsonschema.Schema, args json.RawMessage) bool {
	if !json.Valid(args) {
		return false
	}
	fitted, err := fit(schema, args)
	return err == nil && bytes.Equal(fitted, args)
}

// unknownParam is the error for a parameter unknown to the tool.
type unknownParam struct {
	path  string // where, such as todos[0].
	name  string
	known []string // the likely names; a single name is the intended parameter
}

func (e *unknownParam) Error() string {
	msg := fmt.Sprintf("unknown parameter %q", e.path+e.name)
	near := spelling.Likely(e.name, e.known)
	if len(e.known) == 1 {
		near = e.known
	}
	if len(near) > 0 {
		msg += fmt.Sprintf("; did you mean %s?", quoted(near))
	}
	return msg
}

type fitter struct {
	changed  bool
	problems []string
}

// fail adds a problem. All problems of a call are reported at once.
func (f *fitter) fail(err error) { f.problems = append(f.problems, err.Error()) }

// err is nil if there are no problems.
func (f *fitter) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	problems := f.problems
	if more := len(problems) - mostProblems; more > 0 {
		problems = append(slices.Clone(problems[:mostProblems]), fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(problems, "; "))
}

// mostProblems of a call are reported.
const mostProblems = 4

func (f *fitter) object(s *jsonschema.Schema, object map[string]any, path string) map[string]any {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		sub, known := s.Properties[name]
		if !known && closed(s) && object[name] == nil {
			delete(object, name)
			f.changed = true
			continue
		}
		if !known {
			if closed(s) {
				f.fail(unknown(s, object, path, name))
			}
			continue
		}
		value := object[name]
		if isUnset(sub, value) && (value == nil || !slices.Contains(s.Required, name)) {
			delete(object, name)
			f.changed = true
			continue
		}
		object[name] = f.value(sub, value, path+name)
	}
	if err := missing(s, object, path); err != nil {
		f.fail(err)
	}
	return object
}

// isUnset reports whether value means “not given”: null, or text such as "null" where s allows no
// text, or only listed words.
func isUnset(s *jsonschema.Schema, value any) bool {
	if !constrained(s) || allows(s, "null") {
		return false
	}
	text, isText := value.(string)
	free := allows(s, "string") && (len(s.Enum) == 0 || slices.Contains(s.Enum, value))
	return value == nil || isText && !free && Unset(text)
}

// Unset reports whether text stands for a parameter that was not given.
func Unset(text string) bool {
	return slices.Contains([]string{"", "null", "None", "undefined"}, text)
}

// unknown returns the error for a parameter not in s. If exactly one parameter is missing and the
// value fits it, the error suggests it.
func unknown(s *jsonschema.Schema, object map[string]any, path, name string) *unknownParam {
	all := parameters(s)
	if len(spelling.Likely(name, all)) > 0 {
		return &unknownParam{path, name, all}
	}
	var strange, missing []string
	for given := range object {
		if s.Properties[given] == nil {
			strange = append(strange, given)
		}
	}
	for _, required := range s.Required {
		if _, given := object[required]; !given {
			missing = append(missing, required)
		}
	}
	if e := (&unknownParam{path, name, all}); len(strange) != 1 || len(missing) != 1 || !allows(s.Properties[missing[0]], kindOf(object[name])) {
		return e
	}
	return &unknownParam{path, name, []string{missing[0]}}
}

func missing(s *jsonschema.Schema, object map[string]any, path string) error {
	var names []string
	for _, name := range s.Required {
		if _, given := object[name]; !given {
			names = append(names, strconv.Quote(path+name))
		}
	}
	switch len(names) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("the parameter %s is missing%s", names[0], oneOfText(s, object))
	default:
		return fmt.Errorf("the parameters %s are missing", strings.Join(names, " and "))
	}
}

// oneOfText lists the values of the missing parameter, if it has an enum.
func oneOfText(s *jsonschema.Schema, object map[string]any) string {
	for _, name := range s.Required {
		if _, given := object[name]; given || s.Properties[name] == nil || len(s.Properties[name].Enum) == 0 {
			continue
		}
		var known []string
		for _, e := range s.Properties[name].Enum {
			if text, ok := e.(string); ok {
				known = append(known, text)
			}
		}
		return ": one of " + quoted(known)
	}
	return ""
}

func (f *fitter) value(s *jsonschema.Schema, v any, path string) any {
	if !constrained(s) {
		return v
	}
	if !allows(s, kindOf(v)) {
		meant, ok := coerce(s, v)
		if !ok {
			f.fail(wrongKind(s, v, path))
			return v
		}
		v, f.changed = meant, true
	}
	switch x := v.(type) {
	case map[string]any:
		return f.object(s, x, path+".")
	case []any:
		f.items(s, x, path)
		return x
	case string:
		return f.oneOf(s, x, path)
	}
	return v
}

func (f *fitter) items(s *jsonschema.Schema, list []any, path string) {
	if s.Items == nil {
		return
	}
	for i, item := range list {
		list[i] = f.value(s.Items, item, fmt.Sprintf("%s[%d]", path, i))
	}
}

// oneOf holds a word against the schema's list, whatever its case and hyphens.
func (f *fitter) oneOf(s *jsonschema.Schema, word, path string) any {
	if len(s.Enum) == 0 || slices.Contains(s.Enum, any(word)) {
		return word
	}
	var known []string
	for _, e := range s.Enum {
		value, ok := e.(string)
		if !ok {
			continue
		}
		if sameWord(value, word) {
			f.changed = true
			return value
		}
		known = append(known, value)
	}
	f.fail(fmt.Errorf("%q must be one of %s, not %q", path, quoted(known), OneLine(word, 60)))
	return word
}

// sameWord reports whether a list value and a word are equal except for case and hyphens.
func sameWord(value any, word string) bool {
	plain := func(w string) string {
		return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(w)))
	}
	text, ok := value.(string)
	return ok && plain(text) == plain(word)
}

// coerce converts v to a kind that s allows, if v is another spelling of such a value.
func coerce(s *jsonschema.Schema, v any) (any, bool) {
	if text, ok := v.(string); ok {
		if meant, ok := unquote(s, text); ok {
			return meant, true
		}
	}
	if n, ok := v.(json.Number); ok && allows(s, "boolean") && (n == "0" || n == "1") {
		return n == "1", true
	}
	if n, ok := v.(json.Number); ok && allows(s, "integer") {
		// 5.0 is 5
		if x, err := n.Float64(); err == nil && x == float64(int64(x)) {
			return json.Number(strconv.FormatInt(int64(x), 10)), true
		}
		return nil, false
	}
	if list, ok := v.([]any); ok && len(list) == 1 && allows(s, "string") {
		text, ok := list[0].(string)
		return text, ok
	}
	if text, ok := v.(string); ok && strings.HasPrefix(strings.TrimSpace(text), "[") {
		return nil, false // a broken list is not an item
	}
	if object, ok := v.(map[string]any); ok && allows(s, "array") && !allows(s, "object") && !isItem(s.Items, object) {
		if list, ok := alias.ListIn(object); ok {
			return list, true
		}
	}
	// A single item in place of a list becomes a list of one item.
	if allows(s, "array") && s.Items != nil && constrained(s.Items) && allows(s.Items, kindOf(v)) {
		return []any{v}, true
	}
	return nil, false
}

// isItem reports whether an object contains a field of the list's items.
func isItem(items *jsonschema.Schema, object map[string]any) bool {
	for name := range object {
		if items != nil && items.Properties[name] != nil {
			return true
		}
	}
	return false
}

// unquote parses a string as a boolean, number, list or object.
func unquote(s *jsonschema.Schema, text string) (any, bool) {
	text = strings.TrimSpace(text)
	if allows(s, "boolean") {
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			return true, true
		case "false", "no", "off", "0", "":
			return false, true
		}
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.InputOffset() != int64(len(text)) {
		return nil, false
	}
	if _, still := v.(string); still {
		return nil, false
	}
	if allows(s, kindOf(v)) {
		return v, true
	}
	if _, number := v.(json.Number); number {
		return coerce(s, v)
	}
	return nil, false
}

func wrongKind(s *jsonschema.Schema, v any, path string) error {
	kinds := s.Types
	if s.Type != "" {
		kinds = []string{s.Type}
	}
	hint := ""
	if allows(s, "string") {
		switch v := v.(type) {
		case []any:
			hint = ": send one text"
			if _, text := firstOf(v).(string); text && len(v) > 1 {
				hint = ": send one of them, and make a call for each other one"
			}
		case map[string]any:
			hint = ": send the text alone, in quotes, as a JSON string"
		default:
			hint = ": put it in quotes, as a JSON string"
		}
	}
	return fmt.Errorf("%q must be %s, not %s%s", path, article(strings.Join(kinds, " or ")), article(kindOf(v)), hint)
}

func firstOf(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// kindOf names the JSON type of a decoded value, as a schema does.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// allows reports whether s permits the kind; an integer is a number too.
func allows(s *jsonschema.Schema, kind string) bool {
	has := func(k string) bool { return s.Type == k || slices.Contains(s.Types, k) }
	return has(kind) || kind == "integer" && has("number")
}

// constrained reports whether s limits the kind of a value.
func constrained(s *jsonschema.Schema) bool { return s.Type != "" || len(s.Types) > 0 }

// closed reports whether s allows only the properties it lists.
func closed(s *jsonschema.Schema) bool {
	a := s.AdditionalProperties
	return a != nil && a.Not != nil && len(s.PatternProperties) == 0
}

// parameters lists the names of s in the order of the schema.
func parameters(s *jsonschema.Schema) []string {
	names := slices.Clone(s.PropertyOrder)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func article(kind string) string {
	if kind == "null" {
		return kind
	}
	if strings.HasPrefix(kind, "a") || strings.HasPrefix(kind, "i") || strings.HasPrefix(kind, "o") {
		return "an " + kind
	}
	return "a " + kind
}
