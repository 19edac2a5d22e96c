package config

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

func environMap(environ []string) map[string]string {
	out := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			out[name] = value
		}
	}
	return out
}

// environSource reads HERMES_<SECTION>_<KEY>, such as HERMES_MODEL_DEFAULT, for every key with a
// plain value.
func environSource(root field, environ []string) source {
	env := environMap(environ)
	s := source{name: "environment", tree: map[string]any{}, trusted: true}
	root.leaves("", func(key string, f field) {
		name := EnvironName(key)
		text, ok := env[name]
		if !ok || text == "" {
			return
		}
		value, ok := parseScalar(f, text)
		if !ok {
			return
		}
		merge(s.tree, nested(map[string]any{key: value}))
	})
	return s
}

// EnvironName returns the environment variable of a key, such as HERMES_MODEL_DEFAULT.
func EnvironName(key string) string {
	return "HERMES_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// parseScalar parses text as the field's type. If this fails, it returns the text, and the later
// check reports the expected type.
func parseScalar(f field, text string) (any, bool) {
	switch f.typ.Kind() {
	case reflect.Bool:
		if b, err := strconv.ParseBool(text); err == nil {
			return b, true
		}
	case reflect.Int, reflect.Float64:
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n, true
		}
	case reflect.Slice:
		return parseList(f, strings.TrimSpace(text)), true
	case reflect.Map:
		return nil, false
	}
	return text, true
}

// parseList parses "[a, b]" as YAML, and "a, b" as a list of texts. A single key is a text.
func parseList(f field, text string) any {
	if strings.HasPrefix(text, "[") {
		var list []any
		if checkNesting(text) == nil && yaml.Unmarshal([]byte(text), &list) == nil {
			return list
		}
	}
	if f.typ == typeOfKeys && !strings.Contains(text, ",") {
		return text
	}
	var list []any
	for item := range strings.SplitSeq(text, ",") {
		list = append(list, strings.TrimSpace(item))
	}
	return list
}
