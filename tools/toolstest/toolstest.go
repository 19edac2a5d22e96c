// Package toolstest helps to test tools: with sets, calls, and users that answer approval
// requests.
package toolstest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Set returns a set of tools.
func Set(t testing.TB, list ...tools.Tool) *tools.Set {
	t.Helper()
	s, err := tools.NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Call runs a call and decodes its result into the value at into.
func Call(t testing.TB, s *tools.Set, env *tools.Env, name string, args, into any) tools.Result {
	t.Helper()
	text, err := tools.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Call(t.Context(), env, tools.Call{ID: "1", Name: name, Args: text})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.JSON, into); err != nil {
		t.Fatalf("%s: %v", r.JSON, err)
	}
	return r
}

// User gives the same answer to every approval request, and records the requests.
type User struct {
	Say   tools.Decision
	Asked []tools.ApprovalRequest
}

// AskPermission implements [tools.Asker].
func (u *User) AskPermission(_ context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	u.Asked = append(u.Asked, q)
	return u.Say, nil
}
