package api_test

import (
	"encoding/json"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `a b`, `a"b`, `a\`, `\"`, "é ✓ 😀\n\t\u2028", `"delta":"x"`} {
		data, err := json.Marshal(map[string]string{"before": text, "delta": text})
		if err != nil {
			t.Fatal(err)
		}
		after, ok := api.After(data, `"delta"`)
		if !ok {
			t.Fatalf("%s has no delta", data)
		}
		got, rest, ok := api.Quoted(after)
		if !ok || got != text || string(rest) != "}" {
			t.Errorf("%s: %q %q %v", data, got, rest, ok)
		}
	}
	for _, data := range []string{``, `1`, `"`, `"a`, `"a\"`, `"\q"`, "\"\x01\""} {
		if text, _, ok := api.Quoted([]byte(data)); ok {
			t.Errorf("%q: %q", data, text)
		}
	}
}
