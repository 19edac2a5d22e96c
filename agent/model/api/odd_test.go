package api_test

import (
	"encoding/json"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

type sample struct {
	Text  string  `json:"text"`
	Count int     `json:"count"`
	Price float64 `json:"price"`
	Sure  *bool   `json:"sure"`
	Parts []struct {
		Text string          `json:"text"`
		Raw  json.RawMessage `json:"raw"`
	} `json:"parts"`
	Inner *sample           `json:"inner"`
	Any   map[string]any    `json:"any"`
	List  []json.RawMessage `json:"list"`
}

// FuzzDecode checks that each valid JSON text can be decoded and keeps its meaning.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"text":["a",{"text":"b"}],"count":"3","price":1e400,"sure":"yes","parts":{"0":{"text":1}},"inner":[{"text":"x"}],"any":[],"list":"[1]"}`,
		`{"TEXT":5,"count":[2.0],"parts":"plain","inner":"{\"text\":\"x\"}","any":{"a":1},"list":{"type":"x"}}`, `[{"text":"a"}]`, `"a"`, `null`, `5`, `[]`,
		`{"count":1e300,"price":[],"sure":{},"parts":[[],{},null,"a"],"list":null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var first, second sample
		fit, err := api.Decode([]byte(text), &first)
		if err != nil {
			if json.Valid([]byte(text)) {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		if _, err := api.Decode(fit, &second); err != nil {
			t.Fatalf("%s became %s: %v", text, fit, err)
		}
	})
}
