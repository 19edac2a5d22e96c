package file

import (
	"context"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// asking is an event that requires approval for each call.
type asking struct{}

func (asking) BeforeCall(_ context.Context, _ *tools.Env, _ tools.Tool, c tools.Call) tools.Admission {
	return tools.Admission{Call: c, Ask: "is asked about by the hook"}
}

func (asking) AfterCall(_ context.Context, _ *tools.Env, _ tools.Tool, _ tools.Call, r tools.Result) tools.Result {
	return r
}

// A hook that asks about an edit shows it, once, also in mode careful and for protected files.
func TestHookAsksWithTheEdit(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a.txt", ".envrc"} {
		for _, inCareful := range []bool{false, true} {
			for _, say := range []tools.Decision{tools.DecisionOnce, tools.DecisionDeny} {
				p := newPlace(t, map[string]string{path: "old\n"})
				user := &answers{say: say}
				g := gate.New(gate.Config{Asker: user})
				g.SetCareful(inCareful)
				p.env.Gate = g
				set, err := tools.NewSet(Tools(p.env.Config)...)
				if err != nil {
					t.Fatal(err)
				}
				set.Events = asking{}
				call := tools.Call{ID: "1", Name: "patch", Args: []byte(`{"path":"` + path + `","old_string":"old","new_string":"new"}`)}
				got, _ := set.Call(t.Context(), p.env.Env, call)
				if len(user.asked) != 1 || len(user.asked[0].Edits) != 1 || len(user.asked[0].Options()) != 2 ||
					!strings.Contains(user.asked[0].Reason, "by the hook") || got.IsError != (say == tools.DecisionDeny) {
					t.Errorf("%s, careful %v, answered %s: asked %+v: %s", path, inCareful, say, user.asked, got.JSON)
				}
			}
		}
	}
}
