package params

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model/schema"
)

// Rename gives the parameters in a schema names accepted by all model APIs. renamed maps the new
// names to the server's; nil: nothing was renamed. Types get the names of JSON Schema. Rename may
// change its argument.
func Rename(parameters any) (changed any, renamed map[string]string) {
	object, ok := parameters.(map[string]any)
	if h, is := parameters.(hidden); is {
		object, ok = h.schema, true
	}
	if !ok {
		return parameters, nil
	}
	names := map[string]bool{}
	odd := false
	each(object, 0, func(s map[string]any) {
		named(s)
		own, _ := s["properties"].(map[string]any)
		for name := range own {
			names[name] = true
			odd = odd || !schema.Names.MatchString(name)
		}
	})
	if !odd {
		return parameters, nil
	}
	copied, err := json.Marshal(object) // the SDK may keep the schema
	if err != nil || json.Unmarshal(copied, &object) != nil {
		return parameters, nil
	}
	now := map[string]string{}
	renamed = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if schema.Names.MatchString(name) {
			continue
		}
		short := plainName(name)
		for n := 2; names[short]; n++ {
			short = fmt.Sprintf("%.58s_%d", plainName(name), n)
		}
		names[short] = true
		now[name], renamed[short] = short, name
	}
	each(object, 0, func(s map[string]any) { rename(s, now) })
	return object, renamed
}

// plainName replaces the characters not accepted by all model APIs.
func plainName(name string) string {
	name = letters(name)
	if c := name[0]; c >= '0' && c <= '9' || c == '-' || c == '.' {
		name = "_" + name
	}
	return name[:min(len(name), 64)]
}

func letters(name string) string {
	name = strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name), "_")
	if name == "" {
		return "parameter"
	}
	return name
}

// rename renames the properties of a schema.
func rename(s map[string]any, now map[string]string) {
	own, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if short, ok := now[name]; ok {
			own[short] = own[name]
			delete(own, name)
		}
	}
	list, _ := s["required"].([]any)
	for i, one := range list {
		if name, ok := one.(string); ok && now[name] != "" {
			list[i] = now[name]
		}
	}
}

// named gives the types of a schema the names of JSON Schema. An unknown name permits any value.
func named(s map[string]any) {
	switch kind := s["type"].(type) {
	case string:
		if is := schema.Kind(kind); is != "" {
			s["type"] = is
		} else {
			delete(s, "type")
		}
	case []any:
		known := []any{}
		for _, one := range kind {
			if text, ok := one.(string); ok && schema.Kind(text) != "" && !slices.Contains(known, any(schema.Kind(text))) {
				known = append(known, schema.Kind(text))
			}
		}
		if s["type"] = known; len(known) == 0 {
			delete(s, "type")
		}
	}
}

// each calls a function with a schema and its subschemas.
func each(s map[string]any, depth int, do func(map[string]any)) {
	if depth > deepest {
		return
	}
	do(s)
	for key, value := range s {
		switch v := value.(type) {
		case map[string]any:
			if slices.Contains(single, key) {
				each(v, depth+1, do)
			}
			if !slices.Contains(withNames, key) {
				continue
			}
			for _, one := range v {
				if sub, ok := one.(map[string]any); ok {
					each(sub, depth+1, do)
				}
			}
		case []any:
			for _, one := range v {
				if sub, ok := one.(map[string]any); ok && slices.Contains(lists, key) {
					each(sub, depth+1, do)
				}
			}
		}
	}
}

// Restore returns the arguments of a call with the server's names of parameters.
func Restore(args json.RawMessage, renamed map[string]string) json.RawMessage {
	if len(renamed) == 0 {
		return args
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return args
	}
	out, err := json.Marshal(restore(value, renamed))
	if err != nil {
		return args
	}
	return out
}

func restore(value any, renamed map[string]string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			if own, ok := renamed[name]; ok {
				name = own
			}
			out[name] = restore(one, renamed)
		}
		return out
	case []any:
		for i, one := range v {
			v[i] = restore(one, renamed)
		}
	}
	return value
}
