package config

import (
	"reflect"
	"strings"
)

// field is one key of the configuration, read off the struct tags.
type field struct {
	name     string // as in config.yaml
	typ      reflect.Type
	doc      string
	enum     []string
	guard    string // what happens while the value is wrong; empty: a wrong value is ignored
	safe     string // what counts in place of a wrong value; empty: the wrong value
	harmless bool   // a repository may set it
	plain    bool   // a repository may set it to a plain name only
}

// fieldsOf lists the keys of a section in the order of the struct.
func fieldsOf(section reflect.Type) []field {
	fields := make([]field, 0, section.NumField())
	for f := range section.Fields() {
		if f.IsExported() {
			fields = append(fields, newField(f))
		}
	}
	return fields
}

func newField(f reflect.StructField) field {
	out := field{
		name:     f.Tag.Get("json"),
		typ:      f.Type,
		doc:      f.Tag.Get("doc"),
		guard:    f.Tag.Get("guard"),
		safe:     f.Tag.Get("safe"),
		harmless: f.Tag.Get("repo") != "",
		plain:    f.Tag.Get("repo") == "name",
	}
	if words, ok := f.Tag.Lookup("enum"); ok {
		out.enum = strings.Split(words, ",")
	}
	return out
}

// section tells whether the field holds keys of its own that are known.
func (f field) section() bool { return f.typ.Kind() == reflect.Struct }

// sections tells whether the field holds sections under names of the user's.
func (f field) sections() bool {
	return f.typ.Kind() == reflect.Map && f.typ.Elem().Kind() == reflect.Struct
}

// lookup finds the field of a dotted key, such as "model.default" or
// "mcp_servers.NAME.command".
func lookup(key string) (field, bool) {
	at := field{typ: reflect.TypeFor[Config]()}
	for name := range strings.SplitSeq(key, ".") {
		next, ok := at.below(name)
		if !ok {
			return field{}, false
		}
		at = next
	}
	return at, true
}

// below finds the field of a name in a section, or in what holds names of the user's.
func (f field) below(name string) (field, bool) {
	switch {
	case f.section():
		return named(fieldsOf(f.typ), name)
	case f.typ.Kind() == reflect.Map && name != "":
		return field{name: name, typ: f.typ.Elem(), harmless: f.harmless}, true
	}
	return field{}, false
}

func named(fields []field, name string) (field, bool) {
	for _, f := range fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// leaves calls visit with each key that holds a value, dotted, in order.
func leaves(visit func(key string, f field)) {
	var walk func(prefix string, section reflect.Type)
	walk = func(prefix string, section reflect.Type) {
		for _, f := range fieldsOf(section) {
			if f.section() {
				walk(prefix+f.name+".", f.typ)
			} else {
				visit(prefix+f.name, f)
			}
		}
	}
	walk("", reflect.TypeFor[Config]())
}
