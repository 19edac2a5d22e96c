package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestManyPartsOfAnAnswer checks that the parts of an answer are not copied again for each further
// part: an event may have hundreds of thousands.
func TestManyPartsOfAnAnswer(t *testing.T) {
	raw := []byte("[" + strings.Repeat(`"word ",`, 9999) + `"end"]`)
	var c answerText
	all := testing.AllocsPerRun(1, func() {
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Error(err)
		}
	})
	decoded := testing.AllocsPerRun(1, func() {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Error(err)
		}
	})
	if len(c.text) != 9999*5+3 || all-decoded > 1000 {
		t.Errorf("%d bytes of text, %.0f allocations, %.0f of them to decode", len(c.text), all, decoded)
	}
}
