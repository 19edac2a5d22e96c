package params

import "math"

// usual reports whether a schema contains only keywords used by most servers, with values of their
// types. Such a schema is readable: parsing every schema of a server with many tools takes longer
// than the connection. If usual returns false, the schema may still be readable.
func usual(schema map[string]any) bool {
	for key, value := range schema {
		if fits := keywords[key]; fits == nil && !isSchemas(key, value) || fits != nil && !fits(value) {
			return false
		}
	}
	return true
}

// keywords maps keywords to functions that report whether a value is valid. isSchemas handles
// keywords with schemas as values.
var keywords = map[string]func(value any) bool{
	"$schema": is[string], "$id": is[string], "$ref": is[string], "$comment": is[string], "title": is[string], "description": is[string],
	"format": is[string], "pattern": is[string], "deprecated": is[bool], "readOnly": is[bool], "writeOnly": is[bool], "uniqueItems": is[bool],
	"default": anything, "const": anything, "enum": is[[]any], "examples": is[[]any], "required": listOf(is[string]),
	"type":    func(v any) bool { return is[string](v) || listOf(is[string])(v) },
	"minimum": is[float64], "maximum": is[float64], "exclusiveMinimum": is[float64], "exclusiveMaximum": is[float64], "multipleOf": is[float64],
	"minLength": count, "maxLength": count, "minItems": count, "maxItems": count, "minProperties": count, "maxProperties": count,
}

func is[T any](value any) bool {
	_, ok := value.(T)
	return ok
}

func anything(any) bool { return true }

// count reports whether a value is a number of things.
func count(value any) bool {
	n, ok := value.(float64)
	return ok && n == math.Trunc(n) && n >= 0 && n <= math.MaxInt32
}

func listOf(fits func(any) bool) func(any) bool {
	return func(value any) bool {
		list, ok := value.([]any)
		for _, one := range list {
			ok = ok && fits(one)
		}
		return ok
	}
}

// isSchemas reports whether a value is valid for a keyword with schemas as values, and the schemas
// are usual.
func isSchemas(key string, value any) bool {
	switch key {
	case "items", "additionalProperties", "not":
		return isUsual(value)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return listOf(isUsual)(value)
	case "properties", "patternProperties", "$defs", "definitions":
		named, ok := value.(map[string]any)
		for _, one := range named {
			ok = ok && isUsual(one)
		}
		return ok
	}
	return false
}

// isUsual reports whether a value is a usual schema or a boolean.
func isUsual(value any) bool {
	if schema, ok := value.(map[string]any); ok {
		return usual(schema)
	}
	return is[bool](value)
}
