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
