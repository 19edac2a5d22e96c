package codeexec

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

type sourced struct {
	Content string   `json:"content"`
	Note    string   `json:"note,omitempty"`
	Hidden  string   `json:"-"`
	Quoted  string   `json:"quoted,string,omitempty"`
	List    []string `json:"list,omitempty"`
	Lines   int      `json:"lines"`
}

func TestFrameSource(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("1|\tif s == \"é\\n\" {\u2028 // <&>\n", 2*longResult/20)
	for name, tc := range map[string]struct {
		source any
		raw    bool
	}{
		"one text":            {sourced{Content: long, Lines: 3}, true},
		"two texts":           {sourced{Content: long, Note: long + "!", Lines: 3}, true},
		"others stay":         {sourced{Content: long, Hidden: long, Quoted: long, List: []string{long, "NaN"}}, true},
		"short":               {sourced{Content: "x"}, false},
		"our own words":       {sourced{Content: long, Note: stand}, false},
		"our words in a list": {sourced{Content: long, List: []string{stand}}, false},
		"no UTF-8":            {sourced{Content: long + "\xff"}, false},
		"no text of its own":  {sourced{List: []string{long}}, false},
		"a map":               {map[string]string{"content": long}, false},
		"a pointer":           {&sourced{Content: long}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := tools.OK(tc.source)
			var f framer
			plain, texts, ok := f.frameSource(7, result)
			if ok != tc.raw {
				t.Fatalf("raw: %v", ok)
			}
			if !ok {
				plain, texts = f.frame(7, result.JSON)
			}
			var want any
			if err := json.Unmarshal(result.JSON, &want); err != nil {
				t.Fatal(err)
			}
			if got := unframe(t, slices.Concat(plain, texts), 7); !reflect.DeepEqual(got, want) {
				t.Errorf("another result came out of %.200q", plain)
			}
		})
	}
}

// What a hook or the hiding of secrets has put in a result's place is what counts.
func TestFrameSourceIsTheResult(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("secret\n", longResult)
	for name, change := range map[string]func(json.RawMessage) json.RawMessage{
		"replaced": func(json.RawMessage) json.RawMessage {
			return json.RawMessage(`{"content":"` + strings.Repeat("x", longResult) + `"}`)
		},
		"longer":  func(j json.RawMessage) json.RawMessage { return append(j[:len(j)-1:len(j)], `,"more":1}`...) },
		"shorter": func(j json.RawMessage) json.RawMessage { return append(j[:longResult], `"}`...) },
		"none":    func(json.RawMessage) json.RawMessage { return nil },
	} {
		result := tools.OK(sourced{Content: long})
		result.JSON = change(result.JSON)
		if _, _, ok := new(framer).frameSource(1, result); ok {
			t.Errorf("%s: the script gets what was taken away", name)
		}
	}
}
