package openai

import (
	"encoding/json"
	"testing"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	var u usage
	text := `{"prompt_tokens":4611686018427387904,"completion_tokens":-5,"prompt_tokens_details":{"cached_tokens":7}}`
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	got := u.tokens()
	if got.Input != mostTokens || got.Output != 0 || got.CachedRead != 7 {
		t.Errorf("%+v", got)
	}
	if sum := got.Input + 1_000_000*got.Input; sum < 0 {
		t.Errorf("the sum of a million requests is %d", sum)
	}
}

// A cost that is none does not change what counts as spent.
func TestCost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{`{"cost":0.25}`: 0.25, `{"cost":-1000}`: 0, `{"cost":1e300}`: 0, `{}`: 0} {
		var u usage
		if err := json.Unmarshal([]byte(text), &u); err != nil {
			t.Fatal(err)
		}
		if got := u.tokens().Cost; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
