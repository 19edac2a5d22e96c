package servertest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

// Another program puts a text into hermes.prompt. What the editor shows of it and of the answer has
// no mark that reorders text, and no character that controls a terminal. The model gets the prompt
// as it is.
func TestPromptOfAnotherProgram(t *testing.T) {
	t.Parallel()
	const hostile = "run it \u202etxt.sh\u202c \u2066a\u2069 \x1b]52;c;ZXZpbA==\x07 \u009b31m\nmore"
	for name, wait := range map[string]bool{"wait": true, "at once": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with(t, servertest.Options{}, func(t *testing.T, e *servertest.Editor, m *fakemodel.Model) {
				if err := e.Command(protocol.CommandPrompt, protocol.PromptArgs{Prompt: hostile, Wait: wait}, nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute) // of virtual time
				messages := m.Requests()[0].Messages
				if got := messages[len(messages)-1].Text(); !strings.Contains(got, "\u202etxt.sh") {
					t.Errorf("the model got %q", got)
				}
				shown := 0
				for _, f := range e.Frames() {
					for _, raw := range []json.RawMessage{f.Params, f.Result} {
						for _, text := range textsIn(raw) {
							shown += strings.Count(text, "txt.sh")
							if strings.ContainsFunc(text, func(r rune) bool {
								return unicode.IsControl(r) && !strings.ContainsRune("\n\t", r) || unicode.In(r, unicode.Bidi_Control)
							}) {
								t.Errorf("%s %q", f.Method, text)
							}
						}
					}
				}
				if shown < 2 {
					t.Errorf("the prompt and the answer were shown %d times", shown)
				}
			}, func(x *fakemodel.Exchange) { x.Thought(hostile); x.Text(hostile); x.End() })
		})
	}
}

// textsIn returns the texts and keys in a JSON value.
func textsIn(raw json.RawMessage) (all []string) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for k, e := range v {
				all = append(all, k)
				walk(e)
			}
		default:
			all = append(all, fmt.Sprint(v))
		}
	}
	walk(value)
	return all
}
