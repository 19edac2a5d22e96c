package openai

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// TestTemplateChangesNothing checks that the template returns the same deltas as a full
// decoding.
func TestTemplateChangesNothing(t *testing.T) {
	t.Parallel()
	hits := 0
	rapid.Check(t, func(t *rapid.T) {
		var kept []model.Delta
		keep := func(d model.Delta) bool { kept = append(kept, d); return true }
		target := &api.Target{Model: "m"}
		d := decoder{target: target, emit: keep}
		for range rapid.IntRange(1, 12).Draw(t, "chunks") {
			raw := drawChunk(t)
			if _, ok := d.template.match(raw); ok {
				hits++
			}
			kept = nil
			err := d.Event("", raw)
			got := kept
			kept = nil
			full := decoder{target: target, emit: keep}
			if fullErr := full.Event("", raw); (err == nil) != (fullErr == nil) {
				t.Fatalf("%s: error %v, decoded in full %v", raw, err, fullErr)
			}
			if !reflect.DeepEqual(got, kept) {
				t.Fatalf("%s: %+v, decoded in full %+v", raw, got, kept)
			}
		}
	})
	if hits == 0 {
		t.Error("no chunk was recognised")
	}
}

func drawChunk(t *rapid.T) []byte {
	text, err := json.Marshal(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"word", "", `"`, `\`, "\x00", "<", "}]}"})).Draw(t, "text"))
	if err != nil {
		t.Fatal(err)
	}
	key := rapid.SampledFrom([]string{"content", "content", "reasoning_content", "reasoning", "refusal"}).Draw(t, "key")
	end := rapid.SampledFrom([]string{"null", "null", "null", `"stop"`}).Draw(t, "end")
	raw := []byte(fmt.Sprintf(`{"id":"1","choices":[{"index":0,"delta":{%q:%s},"finish_reason":%s}]}`, key, text, end))
	if rapid.IntRange(0, 9).Draw(t, "spoil") == 0 {
		i := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
		raw[i] = rapid.SampledFrom([]byte{'"', '\\', 'x', 0, 0xff, '{'}).Draw(t, "with")
	}
	return raw
}
