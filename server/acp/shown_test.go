package acp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// A question and a call show no hidden text and nothing that reorders text.
func TestQuestionHoldsNothingHidden(t *testing.T) {
	t.Parallel()
	for name, hidden := range map[string]string{
		"escape": "\x1b[2K", "bidi": "\u202e", "zero width": "\u200b", "isolate": "\u2066", "tag": "\U000e0041",
		"bell": "\x07", "delete": "\x7f", "C1": "\u009b", "line separator": "\u2028", "byte order": "\ufeff", "blank letter": "\u3164",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, err := json.Marshal(map[string]string{"command": "rm -rf build # a" + hidden + "b"})
			if err != nil {
				t.Fatal(err)
			}
			path, err := json.Marshal(map[string]string{"path": "x" + hidden + ".txt", "content": "a" + hidden + "b\n\tc"})
			if err != nil {
				t.Fatal(err)
			}
			c := connect(t, setup{model: fakemodel.Script(tool("terminal", string(args)), tool("write_file", string(path)), reply("ok"))})
			c.strict = false
			var seen []json.RawMessage
			c.on(protocol.MethodRequestPermission, func(params json.RawMessage) (any, *protocol.Error) {
				seen = append(seen, params)
				return protocol.RequestPermissionResponse{Outcome: protocol.PermissionOutcome{Outcome: "selected", OptionID: "no"}}, nil
			})
			c.must(protocol.MethodSessionPrompt, say(c.newSession(), "clean"), nil)
			if len(seen) == 0 {
				t.Fatal("nothing asked")
			}
			for _, call := range calls(c.seen()) {
				if call.SessionUpdate != protocol.UpdateToolCall {
					continue // results are the output of programs
				}
				text, err := json.Marshal([]any{call.Title, call.RawInput, call.Locations})
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, text)
			}
			for _, message := range seen {
				var value any
				if err := json.Unmarshal(message, &value); err != nil {
					t.Fatal(err)
				}
				checkShown(t, value)
			}
		})
	}
}

// The model's text, its calls and its subagents have nothing that controls a client's
// terminal.
func TestAnswerDoesNotSteerATerminal(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[8m\x1b]52;c;ZXZpbA==\x07\u009b2Jbc\x7f"
	goal, err := json.Marshal(map[string]any{"goal": hostile, "toolsets": []string{"file"}})
	if err != nil {
		t.Fatal(err)
	}
	path, err := json.Marshal(map[string]string{"path": "n" + hostile, "content": "x"})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, setup{model: fakemodel.Script(
		tool("delegate_task", string(goal)), reply(hostile), func(x *fakemodel.Exchange) { x.Call("call-1", "no"+hostile, "{}"); x.End() }, tool("write_file", string(path)), reply(hostile),
	)})
	c.must(protocol.MethodSessionPrompt, say(c.newSession(), "go"), nil)
	said := 0
	for _, u := range c.seen() {
		var value any
		if err := json.Unmarshal(u.Raw, &value); err != nil {
			t.Fatal(err)
		}
		said += strings.Count(string(u.Raw), "52;c;")
		checkSteers(t, value)
	}
	if said < 8 {
		t.Errorf("the text was shown %d times only", said)
	}
}

func checkSteers(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case string:
		if strings.ContainsFunc(v, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("raw: %q", v)
		}
	case []any:
		for _, e := range v {
			checkSteers(t, e)
		}
	case map[string]any:
		for k, e := range v {
			checkSteers(t, k)
			checkSteers(t, e)
		}
	}
}

func checkShown(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case string:
		if strings.ContainsFunc(v, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == 0x3164)
		}) {
			t.Errorf("raw: %+q", v)
		}
	case []any:
		for _, e := range v {
			checkShown(t, e)
		}
	case map[string]any:
		for k, e := range v {
			checkShown(t, k)
			checkShown(t, e)
		}
	}
}
