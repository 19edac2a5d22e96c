package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decode decodes a JSON text into v, a pointer. Endpoints send some values in another type: a
// text as a list of parts, a list as its only element, a number as a text. Decode converts such
// a value if its meaning is clear; otherwise it drops the value. It returns the converted JSON.
// It returns an error only if data is not JSON.
func Decode(data []byte, v any) ([]byte, error) {
	err := json.Unmarshal(data, v)
	var other *json.UnmarshalTypeError
	if !errors.As(err, &other) {
		return data, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return data, err
	}
	to := reflect.ValueOf(v).Elem()
	to.SetZero()
	fit, ok := converted(value, to.Type())
	if !ok {
		return data, nil
	}
	mended, err := Marshal(fit)
	if err == nil {
		err = json.Unmarshal(mended, v)
	}
	if err != nil { // a value not covered by the rules
		return data, fmt.Errorf("a value of another type: %w", err)
	}
	return mended, nil
}

// readsItself is implemented by types accepting values of several types.
var readsItself = reflect.TypeFor[json.Unmarshaler]()

// converted returns a decoded JSON value in a form that fits a Go type. If there is none, it
// returns false.
func converted(value any, kind reflect.Type) (any, bool) {
	if kind == reflect.TypeFor[json.RawMessage]() || reflect.PointerTo(kind).Implements(readsItself) {
		return value, true
	}
	if value == nil {
		return nil, true // leaves the zero value
	}
	switch kind.Kind() {
	case reflect.Pointer:
		return converted(value, kind.Elem())
	case reflect.String:
		return TextIn(value), true
	case reflect.Int, reflect.Int64:
		n, ok := numberIn(value)
		return int64(min(max(n, math.MinInt32), 1<<52)), ok
	case reflect.Float64:
		return numberIn(value)
	case reflect.Bool:
		return truthIn(value)
	case reflect.Slice:
		return list(value, kind.Elem()), true
	case reflect.Struct:
		return object(value, kind)
	case reflect.Map:
		fields, ok := unpacked(value, kind).(map[string]any)
		if all, _ := value.([]any); len(all) == 1 {
			return converted(all[0], kind)
		}
		return fields, ok
	}
	return value, true
}

// TextIn returns the text in a decoded JSON value: a string, an object with the text in a
// common field, or a list of them.
func TextIn(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		text := ""
		for _, one := range v {
			text += TextIn(one)
		}
		return text
	case map[string]any:
		for _, name := range []string{"text", "content", "value", "thinking", "summary", "parts"} {
			if text := TextIn(v[name]); text != "" {
				return text
			}
		}
	}
	return ""
}

// Arguments returns the arguments of a call as JSON. Some servers send the object itself instead of
// its text, or either of them in a list.
func Arguments(raw json.RawMessage) string {
	var list []json.RawMessage
	for json.Unmarshal(raw, &list) == nil && len(list) == 1 {
		raw = list[0]
	}
	return Text(raw)
}

// numberIn returns a number, also of a text, or of a list with nothing else.
func numberIn(value any) (float64, bool) {
	switch v := value.(type) {
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	case []any:
		if len(v) == 1 {
			return numberIn(v[0])
		}
	}
	return 0, false
}

// truthIn returns a boolean, also of a text, of a number, or of a list with nothing else.
func truthIn(value any) (bool, bool) {
	switch v := value.(type) {
	case bool:
		return v, true
	case string:
		b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(v)))
		return b, err == nil
	case []any:
		if len(v) == 1 {
			return truthIn(v[0])
		}
	}
	n, ok := numberIn(value)
	return n != 0, ok
}

// unpacked returns the object or list inside a text, if part of it fits a Go type. It returns
// other values unchanged.
func unpacked(value any, kind reflect.Type) any {
	text, ok := value.(string)
	if text = strings.TrimSpace(text); !ok || text == "" || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) {
		return value
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var inside any
	if dec.Decode(&inside) != nil || !suits(inside, kind) {
		return value
	}
	return inside
}

// suits reports whether a value is an object with a field of a Go type, or a list or an object
// of such objects.
func suits(value any, kind reflect.Type) bool {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch v := value.(type) {
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(one any) bool { return !suits(one, kind) })
	case map[string]any:
		if all := numbered(v); all != nil {
			return suits(all, kind)
		}
		if kind.Kind() != reflect.Struct {
			_, typed := v["type"]
			return typed || kind.Kind() == reflect.Map
		}
		for key := range v {
			if fieldOf(kind, key) != nil {
				return true
			}
		}
	}
	return false
}

// list returns the elements of a list. It also accepts a single element without its list, and
// an object whose keys are the indexes.
func list(value any, kind reflect.Type) []any {
	var all []any
	switch v := unpacked(value, kind).(type) {
	case []any:
		all = v
	case map[string]any:
		if all = numbered(v); all == nil && len(v) > 0 {
			all = []any{v}
		}
	case string:
		if v != "" {
			all = []any{v}
		}
	default:
		all = []any{v}
	}
	fit := make([]any, 0, len(all))
	for _, one := range all {
		if one, ok := converted(one, kind); ok {
			fit = append(fit, one)
		}
	}
	return fit
}

// numbered returns the values of an object whose keys are all numbers, in their order. For another
// object it returns nil.
func numbered(fields map[string]any) []any {
	keys := make([]int, 0, len(fields))
	for key := range fields {
		n, err := strconv.Atoi(key)
		if err != nil || strconv.Itoa(n) != key {
			return nil
		}
		keys = append(keys, n)
	}
	slices.Sort(keys)
	var all []any
	for _, n := range keys {
		all = append(all, fields[strconv.Itoa(n)])
	}
	return all
}

// texts are the fields for a text without its object.
var texts = []string{"text", "content", "parts", "name"}

// object returns an object for a struct. A list with nothing but an object stands for this
// object, and a text for the object's text field.
func object(value any, kind reflect.Type) (any, bool) {
	value = unpacked(value, kind)
	if all, ok := value.([]any); ok && len(all) == 1 {
		value = unpacked(all[0], kind)
	}
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			f := fieldOf(kind, key)
			if f == nil {
				continue
			}
			if fit, ok := converted(one, f.kind); ok {
				v[key] = fit
			} else {
				delete(v, key)
			}
		}
		return v, true
	case string, []any:
		for _, name := range texts {
			if f := fieldOf(kind, name); f != nil {
				fit, ok := converted(v, f.kind)
				return map[string]any{name: fit}, ok
			}
		}
	}
	return nil, false
}

// fieldOf returns the field to which a key is decoded, or nil.
func fieldOf(kind reflect.Type, key string) *field {
	all := fieldsOf(kind)
	if at := slices.IndexFunc(all, func(f field) bool { return strings.EqualFold(f.name, key) }); at >= 0 {
		return &all[at]
	}
	return nil
}

type field struct {
	name string
	kind reflect.Type
}

// fieldsOf returns the fields of a struct and of its embedded structs. For equal names, the
// outer field comes first.
func fieldsOf(kind reflect.Type) []field {
	var own, inner []field
	for i := range kind.NumField() {
		f := kind.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			inner = append(inner, fieldsOf(f.Type)...)
		case name == "":
			own = append(own, field{f.Name, f.Type})
		default:
			own = append(own, field{name, f.Type})
		}
	}
	return append(own, inner...)
}
