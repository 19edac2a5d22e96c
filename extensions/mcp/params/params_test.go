package params

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	of := func(property string) string {
		return `{"properties":{"a":` + property + `,"b":{"type":"string"}},"type":"object"}`
	}
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                   `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`,
		"{\"properties\":{\"default\":{\"description\":\"hid\\u202eden\\u001b[2J\",\"enum\":[\"a\\u200b\"],\"anyOf\":[{\"title\":\"\\u200bb\"}]}}}": "{\"properties\":{\"default\":{\"anyOf\":[{\"title\":\"b\"}],\"description\":\"hidden\",\"enum\":[\"a\u200b\"]}},\"type\":\"object\"}",
		`{}`:                         `{"properties":{},"type":"object"}`,
		`null`:                       `{"properties":{},"type":"object"}`,
		`{"type":"string"}`:          "",
		`{"type":["string","null"]}`: "",
		`{"x":"` + strings.Repeat("x", largest) + `"}`: "",
		// Lists of types, older drafts and mistakes.
		`{"type":["object","null"],"properties":{"a":{"type":["string","null"]},"b":{"type":"string"}}}`: of(`{"type":["string","null"]}`),
		of(`{"type":7}`): of(`{}`),
		of(`{"exclusiveMinimum":true,"minimum":3,"type":"integer"}`):                                of(`{"exclusiveMinimum":3,"type":"integer"}`),
		of(`{"exclusiveMaximum":false,"maximum":3,"type":"integer"}`):                               of(`{"maximum":3,"type":"integer"}`),
		of(`{"description":"x","required":true,"type":"string"}`):                                   of(`{"description":"x","type":"string"}`),
		of(`{"description":7,"enum":"x","minLength":"1","type":"string"}`):                          of(`{"type":"string"}`),
		of(`{"items":{"exclusiveMinimum":true,"minimum":1},"type":"array"}`):                        of(`{"items":{"exclusiveMinimum":1},"type":"array"}`),
		of(`{"anyOf":[{"type":"string"},{"properties":{"c":{"required":false}},"type":"object"}]}`): of(`{"anyOf":[{"type":"string"},{"properties":{"c":{}},"type":"object"}]}`),
		of(`{"default":{"minimum":1,"required":true},"required":true}`):                             of(`{"default":{"minimum":1,"required":true}}`),
		`{"properties":{"a":"string","b":{"type":"string"}},"required":"a","type":"object"}`:        `{"properties":{"b":{"type":"string"}},"type":"object"}`,
	} {
		var schema any
		if err := json.Unmarshal([]byte(in), &schema); err != nil {
			t.Fatal(err)
		}
		got, err := Of(schema)
		if (err != nil) != (want == "") || err == nil && string(got) != want {
			t.Errorf("%.80s became %s, %v; want %s", in, got, err, want)
		}
	}
}

// FuzzUsual checks that a usual schema can be read.
func FuzzUsual(f *testing.F) {
	f.Add(`{"type":["object","null"],"properties":{"a":{"type":"string","enum":["x"],"minLength":1e3},"b":true},"required":["a"],"additionalProperties":false}`)
	f.Add(`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"},{"items":{"maximum":1e300,"maxItems":-0}}]}},"default":null,"const":[{}],"examples":[]}`)
	f.Add(`{"minLength":-1,"maxLength":1.5,"maxItems":2147483648,"Title":7,"required":[null],"items":[],"properties":{"a":null}}`)
	f.Fuzz(func(t *testing.T, in string) {
		var object map[string]any
		if json.Unmarshal([]byte(in), &object) != nil || !usual(object) {
			return
		}
		if data, err := json.Marshal(object); err != nil || !readable(data) {
			t.Errorf("%s is usual and cannot be read: %s, %v", in, data, err)
		}
	})
}

// Most servers' schemas are usual.
func TestUsual(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":9,"default":3,"description":"x"},"b":{"type":"array","items":{"type":"string"}}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"$defs":{"x":{"enum":["a"]}}}`:                                                                                                                                                     true,
		`{"type":7}`: false, `{"minLength":1.5}`: false, `{"minLength":-1}`: false, `{"Title":"x"}`: false, `{"required":[null]}`: false, `{"required":true}`: false,
		`{"properties":{"a":null}}`: false, `{"properties":[]}`: false, `{"items":[]}`: false, `{"anyOf":{}}`: false, `{"anyOf":[7]}`: false, `{"if":{}}`: false,
	} {
		var object map[string]any
		if err := json.Unmarshal([]byte(in), &object); err != nil {
			t.Fatal(err)
		}
		if got := usual(object); got != want {
			t.Errorf("%s: %t", in, got)
		}
	}
}

// FuzzOf checks that a schema of an object is rejected only for its size.
func FuzzOf(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":7,"items":[{"required":true}]}}}`)
	f.Add(`{"dependencies":{"a":["b"],"c":{"x":1},"d":7},"allOf":7,"not":[],"if":{"then":""}}`)
	f.Fuzz(func(t *testing.T, in string) {
		var object map[string]any
		if json.Unmarshal([]byte(in), &object) != nil || len(in) > largest/8 || object["type"] != nil && object["type"] != "object" {
			return
		}
		if _, err := Of(object); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	})
}
