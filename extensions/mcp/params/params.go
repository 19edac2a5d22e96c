// Package params converts the parameters of a server's tool to a JSON schema for model endpoints
// and for the check of calls. Servers write schemas of several drafts. Unreadable parts of a schema
// are left out, so the tool stays usable; the server checks the arguments too.
package params

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
)

const (
	largest = 64 << 10 // bytes of a schema
	deepest = 64       // levels of schemas in a repaired schema
)

// Of returns the schema of a tool's arguments. It is always the schema of an object, and can be
// read as a JSON schema. If the schema is too large, or not an object's, Of returns an error. It
// changes its argument.
func Of(schema any) (json.RawMessage, error) {
	if h, ok := schema.(hidden); ok {
		schema = h.schema
	}
	object, ok := schema.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	if !isObject(object["type"]) {
		return nil, errors.New("its parameters are no object")
	}
	object["type"] = "object"
	if _, ok := object["properties"].(map[string]any); !ok {
		object["properties"] = map[string]any{}
	}
	clean.Schema(object)
	data, err := encode(object)
	if err != nil || usual(object) || readable(data) {
		return data, err
	}
	repair(object, 0)
	if data, err = encode(object); err != nil {
		return nil, err
	}
	return data, json.Unmarshal(data, new(jsonschema.Schema))
}

// isObject reports whether a schema of this type permits objects. A schema without a type does.
func isObject(kind any) bool {
	list, ok := kind.([]any)
	return kind == nil || kind == "object" || ok && slices.Contains(list, any("object"))
}

func encode(object map[string]any) (json.RawMessage, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding its parameters: %w", err)
	}
	if len(data) > largest {
		return nil, fmt.Errorf("its parameters take %d bytes", len(data))
	}
	return data, nil
}

func readable(data []byte) bool { return json.Unmarshal(data, new(jsonschema.Schema)) == nil }

// repair converts older forms to draft 2020-12, and removes each keyword that is still unreadable.
func repair(schema map[string]any, depth int) {
	exclusive(schema, "minimum", "exclusiveMinimum")
	exclusive(schema, "maximum", "exclusiveMaximum")
	for key, value := range schema {
		if depth < deepest {
			repairValue(key, value, depth+1)
		}
		data, err := json.Marshal(map[string]any{key: value})
		if err != nil || !readable(data) {
			delete(schema, key)
		}
	}
}

// exclusive changes the boolean of draft 4 to the number of later drafts.
func exclusive(schema map[string]any, limit, name string) {
	is, ok := schema[name].(bool)
	if !ok {
		return
	}
	delete(schema, name)
	if number, there := schema[limit]; is && there {
		schema[name] = number
		delete(schema, limit)
	}
}

// repairValue repairs the schemas in the value of a keyword.
func repairValue(key string, value any, depth int) {
	switch v := value.(type) {
	case map[string]any:
		if slices.Contains(single, key) {
			repair(v, depth)
		}
		if slices.Contains(withNames, key) {
			repairEach(v, depth)
		}
	case []any:
		for _, one := range v {
			if sub, ok := one.(map[string]any); ok && slices.Contains(lists, key) {
				repair(sub, depth)
			}
		}
	}
}

// repairEach repairs named schemas, and removes values of other types.
func repairEach(schemas map[string]any, depth int) {
	for name, one := range schemas {
		switch sub := one.(type) {
		case map[string]any:
			repair(sub, depth)
		case bool:
		case []any: // of dependencies
		default:
			delete(schemas, name)
		}
	}
}

// Keywords whose values are a schema, schemas with names, and lists of schemas. The values of others, such as
// default, are data.
var (
	single    = []string{"items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties", "propertyNames", "not", "if", "then", "else", "contentSchema"}
	withNames = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	lists     = []string{"items", "prefixItems", "allOf", "anyOf", "oneOf"}
)
