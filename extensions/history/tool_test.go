package history

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

// diary is a record with a single conversation.
type diary struct{ asked []string }

func (d *diary) SearchMessages(_ context.Context, query, session string, limit int, everywhere bool) ([]Hit, error) {
	d.asked = append(d.asked, query)
	if query == "broken" {
		return nil, errors.New("the disk refused")
	}
	if session == "none" || limit < 1 {
		return nil, nil
	}
	return []Hit{{SessionID: "s", Title: "T", Time: time.Unix(0, 0), MessageID: "m", Role: "user", Snippet: "a \x1b[31mred\x1b[0m word"}}, nil
}

func (d *diary) ReadMessages(_ context.Context, session, message string, limit int, everywhere bool) (Excerpt, error) {
	return Excerpt{SessionID: session, Title: "T", Earlier: 3, Messages: []Message{
		{ID: "m", Role: "user", Text: strings.Repeat("x", 3000)}, {ID: "n", Role: "read_file", Text: strings.Repeat("y", 3000)},
	}}, nil
}

func TestSessionSearch(t *testing.T) {
	t.Parallel()
	yes, no := &toolstest.User{Say: tools.DecisionOnce}, &toolstest.User{Say: tools.DecisionDeny}
	for _, tc := range []struct {
		args  string
		asker *toolstest.User
		want  string
	}{
		{`{"query":"word"}`, nil, `"snippet":"a red word"`},
		{`{"query":"word","session_id":"none"}`, nil, `{"hits":[]}`},
		{`{"session_id":"s"}`, nil, `… [1000 characters more]`},
		{`{"session_id":"s"}`, nil, `… [2600 characters more]`},
		{`{"session_id":"s"}`, nil, `"earlier":3,`},
		{`{}`, nil, `say a query, or a session_id`},
		{`{"query":" "}`, nil, `say a query`},
		{`{"query":"x","limit":-1}`, nil, `limit must be`},
		{`{"query":"broken"}`, nil, `session_search: the disk refused`},
		{`{"query":"x","everywhere":true}`, nil, `no user can approve it`},
		{`{"query":"x","everywhere":true}`, no, `The user denied`},
		{`{"query":"x","everywhere":true}`, yes, `"session_id":"s"`},
	} {
		env := &tools.Env{}
		if tc.asker != nil {
			env.Gate = gate.New(gate.Config{Mode: "ask", Asker: tc.asker})
		}
		past := &diary{}
		got, err := toolstest.Set(t, SessionSearch(past)).Call(t.Context(), env, tools.Call{Name: "session_search", Args: json.RawMessage(tc.args)})
		if err != nil || !strings.Contains(string(got.JSON), tc.want) {
			t.Errorf("%s: %s, %v; want %s", tc.args, got.JSON, err, tc.want)
		}
		if tc.asker == no && len(past.asked) > 0 {
			t.Error("it was looked at although the user said no")
		}
	}
}
