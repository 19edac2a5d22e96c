package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var all = map[string]*Rules{"chat": Chat, "gemini": Gemini, "messages": Messages, "responses": Responses}

// refused returns the reason for which a strict API refuses a schema, or "".
func refused(api string, raw []byte) string {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		return err.Error()
	}
	if root["type"] != "object" {
		return "schema must have type 'object'"
	}
	if _, ok := root["properties"].(map[string]any); !ok {
		return "object schema missing properties"
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if root[key] != nil {
			return key + " is not supported at the top level"
		}
	}
	return refusedAt(api, root, root, "", 0)
}

var anthropicKeys = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

func refusedAt(api string, root map[string]any, value any, at string, depth int) string {
	if _, ok := value.(bool); ok && (api == "messages" || api == "responses") {
		return ""
	}
	s, ok := value.(map[string]any)
	if !ok {
		return at + ": must be an object"
	}
	narrow := api == "chat" || api == "gemini"
	if depth > 17 || api == "gemini" && depth > 11 {
		return at + ": exceeds the maximum nesting depth"
	}
	if ref, ok := s["$ref"]; ok {
		name, _ := strings.CutPrefix(fmt.Sprint(ref), "#/$defs/")
		old, _ := strings.CutPrefix(fmt.Sprint(ref), "#/definitions/")
		d, _ := root["$defs"].(map[string]any)
		o, _ := root["definitions"].(map[string]any)
		if narrow || d[name] == nil && o[old] == nil {
			return at + ": reference to undefined schema " + fmt.Sprint(ref)
		}
	}
	kinds := listOf(s["type"])
	for _, k := range kinds {
		if !slices.Contains([]any{"string", "number", "integer", "boolean", "object", "array", "null"}, k) {
			return fmt.Sprintf("%s: type %v is not valid", at, k)
		}
	}
	if narrow && len(kinds) == 0 && s["anyOf"] == nil {
		return at + ": type is not defined"
	}
	if narrow && len(kinds) > 0 && s["anyOf"] != nil {
		return at + ": when using anyOf, type should be defined in its items"
	}
	if slices.Contains(kinds, any("array")) && s["items"] == nil && api != "messages" {
		return at + ": array schema missing items"
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		if api == "messages" && !anthropicKeys.MatchString(name) {
			return at + ": property keys should match pattern"
		}
		if why := refusedAt(api, root, p, at+"."+name, depth+1); why != "" {
			return why
		}
	}
	if s["properties"] != nil && properties == nil {
		return at + ": properties must be an object"
	}
	if raw, ok := s["required"]; ok {
		list, isList := raw.([]any)
		seen := map[any]bool{}
		for _, one := range list {
			name, text := one.(string)
			if _, defined := properties[name]; !text || seen[one] || narrow && !defined {
				return at + ": required is not valid"
			}
			seen[one] = true
		}
		if !isList {
			return at + ": required must be a list"
		}
	}
	if raw, ok := s["enum"]; ok {
		list, _ := raw.([]any)
		if len(list) == 0 {
			return at + ": enum is too short"
		}
		seen := map[string]bool{}
		for _, one := range list {
			text, _ := json.Marshal(one)
			if seen[string(text)] {
				return at + ": enum has non-unique elements"
			}
			seen[string(text)] = true
			_, isText := one.(string)
			_, isNumber := one.(float64)
			if api == "gemini" && !isText && !isNumber {
				return at + ": enum must be strings or numbers"
			}
			if len(kinds) == 1 && kinds[0] == "string" && !isText {
				return at + ": enum value does not fit its type"
			}
		}
	}
	if pattern, ok := s["pattern"]; ok {
		text, _ := pattern.(string)
		if _, err := regexp.Compile(text); err != nil || narrow {
			return at + ": pattern is not a regex"
		}
	}
	if format, ok := s["format"]; ok {
		text, _ := format.(string)
		if r := all[api]; r.formats != nil && !slices.Contains(r.formats, text) {
			return at + ": format is not valid"
		}
	}
	if narrow {
		for key := range s {
			if !slices.Contains(all[api].keywords, key) {
				return at + ": unknown keyword " + key
			}
		}
	}
	for _, key := range []string{"items", "not", "if", "then", "else", "contains", "additionalProperties"} {
		if sub, ok := s[key]; ok {
			if _, boolean := sub.(bool); boolean && key == "additionalProperties" {
				continue
			}
			if why := refusedAt(api, root, sub, at+"/"+key, depth+1); why != "" {
				return why
			}
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		if raw, ok := s[key]; ok {
			list, _ := raw.([]any)
			if len(list) == 0 {
				return at + ": " + key + " is too short"
			}
			for _, sub := range list {
				if why := refusedAt(api, root, sub, at+"/"+key, depth+1); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// faults are schemas refused by an API, from reports about servers.
var faults = map[string]string{
	"names":           `{"type":"object","properties":{"filter[name]":{"type":"string"},"a":{"type":"string"}},"required":["filter[name]","a"]}`,
	"reference":       `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/definitions/B"},"c":{"$ref":"#/properties/a"},"d":{"$ref":"#/$defs/none"},"e":{"$ref":"http://x/y.json"}},"$defs":{"A":{"type":"string","enum":["x"]}},"definitions":{"B":{"type":"array"}}}`,
	"recursion":       `{"type":"object","properties":{"node":{"$ref":"#/$defs/Node"}},"$defs":{"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"},"all":{"type":"array","items":{"$ref":"#/$defs/Node"}}}}}}`,
	"root reference":  `{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}}}`,
	"no type":         `{"properties":{"a":{},"b":{"description":"x"},"c":{"enum":["x","y"]},"d":{"properties":{"e":true}},"f":{"items":{}}}}`,
	"odd types":       `{"type":"object","properties":{"a":{"type":"str"},"b":{"type":"any"},"c":{"type":["int","none"]},"d":{"type":[]},"e":{"type":"Dict"},"f":{"type":"list"},"g":{"type":{"x":1}},"h":{"type":["string","integer","object"]}}}`,
	"top anyOf":       `{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},{"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"integer"}},"required":["kind"]}]}`,
	"nested top":      `{"type":"object","oneOf":[{"anyOf":[{"$ref":"#/$defs/A"},{"required":["q"]}]},{"allOf":[{"properties":{"z":{"type":"string"}}}]}],"$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
	"one of required": `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"o":{"type":"object","properties":{"c":{"type":"string"}},"anyOf":[{"required":["c"]},{"required":["d"]}]}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
	"parent type":     `{"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y"}]}}}`,
	"arrays":          `{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array","items":[{"type":"string"},{"type":"number"}]},"c":{"type":"array","prefixItems":[{"type":"string"}],"items":false},"d":{"type":"array","items":{"type":"array"}}}}`,
	"values":          `{"type":"object","properties":{"a":{"type":"string","enum":[1,2]},"b":{"enum":[true,false]},"c":{"type":"string","enum":["x",null]},"d":{"type":"string","enum":[]},"e":{"type":"integer","enum":["1",1,1]},"f":{"enum":[{"a":1}]},"g":{"type":["string","null"],"enum":["a",null]},"h":{"enum":"x"},"i":{"const":3},"j":{"enum":["a",1]}}}`,
	"formats":         `{"type":"object","properties":{"a":{"type":"string","format":"uri","description":"Where."},"b":{"type":"integer","format":"int64"},"c":{"type":"string","format":7},"d":{"type":"string","pattern":"^(?!x).*$"},"e":{"type":"string","pattern":"^[a-z]+$"},"f":{"type":"string","pattern":"["}}}`,
	"required":        `{"type":"object","properties":{"a":{"type":"string","required":true}},"required":["a","a","gone",7]}`,
	"old draft":       `{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true},"b":{"type":"object","patternProperties":{"^x":{"type":"string"}},"dependencies":{"a":["b"]}}}}`,
	"wrong values":    `{"type":"object","title":7,"description":["x"],"properties":{"a":"string","b":null,"c":["x"],"d":{"type":"string","minLength":"1","maxLength":-1,"description":{"en":"x"}},"e":{"anyOf":[]},"f":{"allOf":"x"},"g":{"properties":[]}},"additionalProperties":"no"}`,
	"no object":       `{"type":"string"}`,
	"a list":          `[]`,
	"deep":            strings.Repeat(`{"type":"object","properties":{"a":`, 40) + `{"type":"string"}` + strings.Repeat(`}}`, 40),
	"all of":          `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"allOf":[{"type":"string"},{"maxLength":3}]}}}],"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]}}`,
	"wide recursion":  `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"},"e":{"type":"object","additionalProperties":{"$ref":"#"}}}}`,
	"circle":          `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`,
	"default":         `{"type":"object","properties":{"a":{"type":"integer","default":5,"exclusiveMinimum":0,"examples":[1],"x-order":1}}}`,
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, in := range faults {
		for api, rules := range all {
			out := rules.Of(json.RawMessage(in))
			if why := refused(api, out); why != "" {
				t.Errorf("%s, %s: %s\n%.2000s", name, api, why, out)
			}
			if len(out) > 32<<10 {
				t.Errorf("%s, %s: %d bytes", name, api, len(out))
			}
		}
	}
}

// TestMeaning checks the meaning of mended schemas: it is kept.
func TestMeaning(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rules    *Rules
		in, want string
	}{
		{Messages, faults["top anyOf"], `{"properties":{"kind":{"enum":["a","b"]},"x":{"type":"string"},"y":{"type":"integer"}},"required":["kind"],"type":"object"}`},
		{Gemini, faults["root reference"], `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{Chat, `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"mine"}},"$defs":{"A":{"type":"string","enum":["x"],"description":"theirs"}}}`, `{"properties":{"a":{"description":"mine","enum":["x"],"type":"string"}},"type":"object"}`},
		{Chat, `{"type":"object","properties":{"a":{"type":"string","pattern":"^<[a-z]+$","description":"A name."}}}`, `{"properties":{"a":{"description":"A name. (pattern: ^<[a-z]+$)","type":"string"}},"type":"object"}`},
		{Gemini, `{"type":"object","properties":{"a":{"type":"integer","default":5,"description":"N"},"b":{"type":"string","enum":["x",null]}}}`, `{"properties":{"a":{"description":"N (default: 5)","type":"integer"},"b":{"enum":["x"],"type":"string"}},"type":"object"}`},
		{Messages, `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`, ""},
		{Responses, `{"type":"object","properties":{"a b":{"type":"array","items":{"type":"string","pattern":"^x$","format":"date"}}},"x":1}`, ""},
		{Chat, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":["string","null"],"enum":["a",null]}},"required":["a"],"additionalProperties":false}`, ""},
		{Gemini, `{"type":"object","properties":{"a":{"type":"number","minimum":0.50}},"required":["a"]}`, ""},
		{Chat, "", `{"type":"object","properties":{}}`},
	} {
		if tc.want == "" {
			tc.want = tc.in
		}
		if got := tc.rules.Of(json.RawMessage(tc.in)); string(got) != tc.want {
			t.Errorf("%s\nbecame\n%s\nwant\n%s", tc.in, got, tc.want)
		}
	}
}

// FuzzOf checks the result for any schema from a server: no API refuses it.
func FuzzOf(f *testing.F) {
	for _, in := range faults {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 4<<10 {
			return
		}
		for api, rules := range all {
			out := rules.Of(json.RawMessage(in))
			if why := refused(api, out); why != "" {
				t.Errorf("%s: %s\n%s\n%.2000s", api, why, in, out)
			}
		}
	})
}
