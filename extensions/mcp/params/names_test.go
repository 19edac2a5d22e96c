package params

import (
	"encoding/json"
	"testing"
)

func TestRename(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, schema, args, restored string }{
		{in: `{"properties":{"_c-1":{},"a.b":{"type":"string"}},"type":"object"}`, args: `{"a.b":1}`},
		{
			in:     `{"properties":{"$filter":{"type":"str"},"filter":{"type":"any"},"größe[x]":{"items":{"properties":{"@type":{}},"required":["@type"]}},"1st":{}},"required":["$filter","filter","1st"],"type":"object"}`,
			schema: `{"properties":{"_1st":{},"filter":{},"filter_2":{"type":"string"},"gr__e_x":{"items":{"properties":{"type":{}},"required":["type"]}}},"required":["filter_2","filter","_1st"],"type":"object"}`,
			args:   `{"filter_2":"a","filter":1.50,"gr__e_x":[{"type":2}],"other":{"_1st":null}}`, restored: `{"$filter":"a","filter":1.50,"größe[x]":[{"@type":2}],"other":{"1st":null}}`,
		},
		{in: `{"properties":{"":{}},"type":"object"}`, schema: `{"properties":{"parameter":{}},"type":"object"}`, args: `{"parameter":1}`, restored: `{"":1}`},
	} {
		var object any
		if err := json.Unmarshal([]byte(tc.in), &object); err != nil {
			t.Fatal(err)
		}
		changed, renamed := Rename(hidden{object.(map[string]any)})
		got, err := Of(changed)
		if tc.schema == "" {
			tc.schema, tc.restored = tc.in, tc.args
		}
		if err != nil || string(got) != tc.schema {
			t.Errorf("%s became %s, %v", tc.in, got, err)
		}
		if back := Restore(json.RawMessage(tc.args), renamed); string(back) != tc.restored {
			t.Errorf("%s became %s", tc.args, back)
		}
	}
}
