package agent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
)

// placesOf returns the indexes of text in the nested lists of a body. 3 and 1 are the second
// block of the fourth message.
func placesOf(v any, text string) (at []int, ok bool) {
	switch v := v.(type) {
	case string:
		return nil, v == text
	case map[string]any:
		for _, field := range v {
			if at, ok := placesOf(field, text); ok {
				return at, true
			}
		}
	case []any:
		for i, item := range v {
			if at, ok := placesOf(item, text); ok {
				return append([]int{i}, at...), true
			}
		}
	}
	return nil, false
}

// refusedCall is the API's own wording for a call at a place.
var refusedCall = map[string]struct{ list, wording string }{
	"chat":      {"messages", "Invalid 'messages[%d].tool_calls[%d].id': string does not match pattern."},
	"responses": {"input", "Invalid 'input[%d].call_id': string does not match pattern. %d"},
	"messages":  {"messages", "messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"},
	"gemini":    {"contents", "* GenerateContentRequest.contents[%d].parts[%d].function_call.name: [FIELD_INVALID]"},
}

// TestRefusedByEachAPI refuses a call twice. With each API, the session finds it by its place
// in the refusal and sends it as text. The other calls stay calls.
func TestRefusedByEachAPI(t *testing.T) {
	t.Parallel()
	servers := strictServers()
	for name := range refusedCall {
		to := servers[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marks := []string{"badcall00", "bad/path"} // the id, or an argument where calls lack ids
			var last map[string]any
			to.refuse = func(body []byte) string {
				last = nil
				if err := json.Unmarshal(body, &last); err != nil {
					t.Error(err)
				}
				list := last[refusedCall[name].list]
				for _, mark := range marks {
					if at, ok := placesOf(list, mark); ok {
						return fmt.Sprintf(refusedCall[name].wording, at[0], append(at, 0)[1])
					}
				}
				return ""
			}
			to.queue = []string{
				to.form(oddReply{calls: []oddCall{{id: `"goodcall0"`, name: `"look"`, args: argsFor(name, `{"path":"good/path"}`)}}, text: quoted("First.")}),
				to.form(oddReply{calls: []oddCall{{id: `"badcall00"`, name: `"look"`, args: argsFor(name, `{"path":"bad/path"}`)}}, text: quoted("Now.")}),
			}
			s, sink := begin(t, agent.Config{Model: to.model(), Store: openStore(t), Tools: scriptTools(t, nil)}), &recorder{}
			stop, err := s.Turn(t.Context(), agent.Input{Text: "go"}, sink)
			if err != nil || stop != agent.EndTurn {
				t.Fatal(stop, err, to.refusals)
			}
			if n := len(of[agent.Notice](sink)); n != 1 || len(to.refusals) > 4 { // chat retries with another spelling of an empty text each time
				t.Errorf("%d notices, refusals %q", n, to.refusals)
			}
			good := slices.ContainsFunc([]string{"goodcall0", "good/path"}, func(mark string) bool {
				_, ok := placesOf(last[refusedCall[name].list], mark)
				return ok
			})
			if !good {
				t.Errorf("the call that was not refused became text: %v", last)
			}
		})
	}
}

// argsFor returns arguments as they appear in an API's stream.
func argsFor(api, args string) string {
	if api == "gemini" {
		return args
	}
	return quoted(args)
}

// TestWaysOutOfARefusedHistory refuses a history in every form. /undo and /compact make the
// session usable again.
func TestWaysOutOfARefusedHistory(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]func(t *testing.T, s *agent.Session){
		"undo": func(t *testing.T, s *agent.Session) {
			t.Helper()
			for range 2 { // the refused prompt, and its predecessor
				if _, _, err := s.Undo(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
		},
		"compact": func(t *testing.T, s *agent.Session) {
			t.Helper()
			if stop, err := s.Compact(t.Context(), "", &recorder{}); err != nil {
				t.Fatal(stop, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			m := fakemodel.Func(func(x *fakemodel.Exchange) {
				switch n++; {
				case n == 1:
					x.Call("a", "look", `{"path":"poison"}`)
				case slices.ContainsFunc(x.Request.Messages, func(m model.Message) bool {
					return m.Role == model.Assistant && (len(m.Calls()) > 0 || strings.Contains(m.Text(), "poison"))
				}):
					x.Fail(&model.Error{Kind: model.ErrRequest, Status: 400, Message: "Bad Request"})
				default:
					x.Text("done")
				}
			})
			s := begin(t, agent.Config{Model: m, Store: openStore(t), Tools: scriptTools(t, nil)})
			if _, err := s.Turn(t.Context(), agent.Input{Text: "go"}, &recorder{}); err == nil {
				t.Fatal("the history was not refused")
			}
			if _, err := s.Turn(t.Context(), agent.Input{Text: "again"}, &recorder{}); err == nil {
				t.Fatal("the history was not refused again")
			}
			out(t, s)
			if stop, err := s.Turn(t.Context(), agent.Input{Text: "now?"}, &recorder{}); err != nil || stop != agent.EndTurn {
				t.Error(stop, err)
			}
		})
	}
}
