package tools

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plainFields are the input parameters with plain values. encoding/json decodes the others.
type plainFields []plainField

type plainField struct {
	name  string
	index int // in the struct
}

func plainFieldsOf(t reflect.Type) (fields plainFields) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && !field.Anonymous && name != "-" && !strings.Contains(options, "string") && isPlain(field.Type) {
			fields = append(fields, plainField{jsonName(field), i})
		}
	}
	return fields
}

// isPlain reports whether encoding/json decodes a JSON value into a t without conversion.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		at := reflect.PointerTo(t)
		return !at.Implements(reflect.TypeFor[json.Unmarshaler]()) && !at.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
	}
	return false
}

// fill decodes plain arguments into a struct, with the same result as encoding/json. Nearly all
// arguments are plain, and in a script's small call encoding/json would take most of our time. If
// fill returns false, the struct may be partly filled, and encoding/json must decode the arguments.
func (fields plainFields) fill(in reflect.Value, args []byte) bool {
	p := plainReader{src: args}
	if !p.skip('{') {
		return false
	}
	for first := true; !p.skip('}'); first = false {
		if !first && !p.skip(',') {
			return false
		}
		name, ok := p.text()
		if !ok || !p.skip(':') {
			return false
		}
		i := fields.index(name)
		if i < 0 || !p.into(in.Field(i)) {
			return false
		}
	}
	return p.space() == len(p.src)
}

func (fields plainFields) index(name []byte) int {
	for _, f := range fields {
		if f.name == string(name) {
			return f.index
		}
	}
	return -1
}

// into reads a value into a field of its kind.
func (p *plainReader) into(field reflect.Value) bool {
	if p.space() == len(p.src) {
		return false
	}
	kind, begin := field.Kind(), p.pos
	switch c := p.src[begin]; {
	case c == '"':
		text, ok := p.text()
		if !ok || kind != reflect.String || bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
			return false
		}
		field.SetString(string(text))
	case c == 't' || c == 'f':
		if kind != reflect.Bool || !p.word(strconv.FormatBool(c == 't')) {
			return false
		}
		field.SetBool(c == 't')
	default:
		if !p.integer() {
			return false
		}
		n, err := strconv.Atoi(string(p.src[begin:p.pos]))
		switch {
		case err != nil:
			return false
		case field.CanInt():
			field.SetInt(int64(n))
		case field.CanFloat():
			field.SetFloat(float64(n))
		default:
			return false
		}
	}
	return true
}
