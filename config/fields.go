package config

import (
	"reflect"
	"slices"
	"strings"
)

// field is a key of the configuration, described by its struct tags.
type field struct {
	name     string // as in config.yaml
	typ      reflect.Type
	doc      string
	enum     []string
	guard    string  // describes the effect of a wrong value; empty: a wrong value is ignored
	safe     string  // replaces a wrong value; empty: the wrong value applies
	harmless bool    // a repository may set it
	plain    bool    // a repository may set it to a plain name only
	provider bool    // the name of a provider, see [Loaded.checkProvider]
	loose    bool    // a text can also be true or false, and a list a single text
	secret   string  // yes: the text is a secret; names: texts with secret names
	keys     []field // of a section, in the order of the struct
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
	out := fieldOf(f.Tag.Get("json"), f.Tag.Get("doc"), f.Type)
	out.guard, out.safe = f.Tag.Get("guard"), f.Tag.Get("safe")
	out.secret, out.provider = f.Tag.Get("secret"), f.Tag.Get("provider") != ""
	out.loose = f.Tag.Get("loose") != ""
	out.harmless, out.plain = f.Tag.Get("repo") != "", f.Tag.Get("repo") == "name"
	if values, ok := f.Tag.Lookup("enum"); ok {
		out.enum = strings.Split(values, ",")
	}
	return out
}

func fieldOf(name, doc string, typ reflect.Type) field {
	out := field{name: name, doc: doc, typ: typ}
	if typ.Kind() == reflect.Pointer { // without a value, it is nil
		out.typ = typ.Elem()
	}
	if out.section() {
		out.keys = fieldsOf(typ)
	}
	return out
}

// section reports whether the field holds known keys.
func (f field) section() bool { return f.typ == nil || f.typ.Kind() == reflect.Struct }

// sections reports whether the field holds sections with user-chosen names.
func (f field) sections() bool {
	return f.typ != nil && f.typ.Kind() == reflect.Map && f.typ.Elem().Kind() == reflect.Struct
}

// elem is the section below each name of a field with sections.
func (f field) elem() field { return fieldOf("", "", f.typ.Elem()) }

// find returns the field of a dotted key below f, such as "model.default" or
// "mcp_servers.NAME.command".
func (f field) find(key string) (field, bool) {
	for name := range strings.SplitSeq(key, ".") {
		next, ok := f.below(name)
		if !ok {
			return field{}, false
		}
		f = next
	}
	return f, true
}

// below finds the field of a name in a section, or in a field with user-chosen names.
func (f field) below(name string) (field, bool) {
	switch {
	case f.section():
		return named(f.keys, name)
	case f.typ.Kind() == reflect.Map && name != "":
		below := fieldOf(name, "", f.typ.Elem())
		below.harmless = f.harmless
		return below, true
	}
	return field{}, false
}

// leaves calls visit with each value key below f, dotted, in order.
func (f field) leaves(prefix string, visit func(key string, f field)) {
	for _, k := range f.keys {
		if k.section() {
			k.leaves(prefix+k.name+".", visit)
		} else {
			visit(prefix+k.name, k)
		}
	}
}

func named(fields []field, name string) (field, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}
