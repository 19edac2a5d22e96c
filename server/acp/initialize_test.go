package acp_test

import (
	"encoding/json"
	"testing"

	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server/acp"
)

// A capability of a wrong type is not offered. Its siblings are.
func TestOddCapabilities(t *testing.T) {
	t.Parallel()
	const terminal = `"terminal":true`
	for name, c := range map[string]struct {
		said string
		want string // the valid capabilities, encoded
	}{
		"as they should be": {`{"fs":{"readTextFile":true},` + terminal + `,"elicitation":{"form":{}}}`, `{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":true,"elicitation":{"form":{}}}`},
		"no object":         {`[1]`, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}`},
		"null":              {`null`, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}`},
		"missing":           {``, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}`},
		"a text for a bool": {`{"fs":{"readTextFile":"yes","writeTextFile":true}}`, `{"fs":{"readTextFile":false,"writeTextFile":true},"terminal":false}`},
		"a list for fs":     {`{"fs":[1],` + terminal + `}`, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":true}`},
		"a bool for a form": {`{"elicitation":{"form":false,"url":{}},` + terminal + `}`, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":true,"elicitation":{"url":{}}}`},
		"an empty list":     {`{"elicitation":{"form":[]},"session":[]}`, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"session":{},"elicitation":{"form":{}}}`},
		"other case":        {`{"Elicitation":{"FORM":3},"TERMINAL":true}`, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":true,"elicitation":{}}`},
		"a list for _meta":  {`{"_meta":[1],` + terminal + `}`, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":true}`},
		"deep":              {`{"session":{"configOptions":{"boolean":7},"notices":{}}}`, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"session":{"configOptions":{},"notices":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(acp.ReadClient(json.RawMessage(c.said)))
			if err != nil {
				t.Fatal(err)
			}
			var want protocol.ClientCapabilities
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if expected, err := json.Marshal(want); err != nil || string(got) != string(expected) {
				t.Errorf("%s\nwant %s, %v", got, expected, err)
			}
		})
	}
}
