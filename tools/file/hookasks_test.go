package file

import (
	"context"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
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

// A hook's request shows the edit, once, also in mode careful and for protected files.
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

// If a tool computes an edit and asks for it, such as a rename, the user is asked once, with the
// edit. Without an edit, there is no request.
func TestHookAsksWithTheComputedEdit(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a.txt", ".envrc", ""} {
		for _, inCareful := range []bool{false, true} {
			for _, say := range []tools.Decision{tools.DecisionOnce, tools.DecisionDeny} {
				p := newPlace(t, map[string]string{"a.txt": "old\n", ".envrc": "old\n"})
				user := &answers{say: say}
				g := gate.New(gate.Config{Asker: user})
				g.SetCareful(inCareful)
				p.env.Gate = g
				rename := tools.New(tools.Tool{Name: "rename", AsksLater: func(tools.Call) bool { return true }},
					func(ctx context.Context, env *tools.Env, c tools.Call, _ struct{}) (tools.Result, error) {
						if path == "" {
							return tools.OK(map[string]any{"success": false}), nil
						}
						change := OnText(func(string) (string, error) { return "new\n", nil })
						return Apply(ctx, p.env.Config, env, c, []workspace.Action{{Path: path, Change: change}}, 1)
					})
				set, err := tools.NewSet(rename)
				if err != nil {
					t.Fatal(err)
				}
				set.Events = asking{}
				got, _ := set.Call(t.Context(), p.env.Env, tools.Call{ID: "1", Name: "rename", Args: []byte("{}")})
				if path == "" {
					if len(user.asked) > 0 || got.IsError {
						t.Errorf("without an edit: asked %+v: %s", user.asked, got.JSON)
					}
					continue
				}
				text := p.text(t, path)
				if len(user.asked) != 1 || len(user.asked[0].Edits) != 1 || len(user.asked[0].Options()) != 2 ||
					!strings.Contains(user.asked[0].Reason, "by the hook") || (text == "new\n") != (say == tools.DecisionOnce) {
					t.Errorf("%s, careful %v, answered %s: asked %+v, the file has %q: %s", path, inCareful, say, user.asked, text, got.JSON)
				}
			}
		}
	}
}
