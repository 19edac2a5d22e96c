package builder

import (
	"context"
	"errors"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Asker asks the user for the extensions of a session, by the rules of its gate.
type Asker struct {
	Gate tools.Approver
	ID   string // of the session
	// Questions shows questions. Nil: the user cannot be asked, as in a subagent.
	Questions tools.Clarifier
}

// Approve asks the user to allow an action.
func (a Asker) Approve(ctx context.Context, r extension.Request) error {
	verdict := policy.Verdict{Level: policy.Asks, Reason: r.Reason, Keys: r.Keys, Commands: []string{r.Title}, EveryMode: r.EveryMode, Text: r.Text}
	env := &tools.Env{SessionID: a.ID}
	if len(r.Edits) == 0 {
		return a.Gate.Check(ctx, env, r.Call, r.Kind, r.Title, verdict)
	}
	e := tools.Edit{Title: r.Title, Verdict: verdict, Alone: true, Show: func(context.Context) ([]tools.FileEdit, error) { return r.Edits, nil }}
	for _, f := range r.Edits {
		e.Paths, e.Names = append(e.Paths, f.Path), append(e.Names, f.Name)
	}
	return a.Gate.CheckEdit(ctx, env, r.Call, e)
}

// CanClarify reports whether the user can answer questions.
func (a Asker) CanClarify() bool { return a.Questions != nil && a.Questions.CanClarify() }

// Clarify asks the user a question.
func (a Asker) Clarify(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	if a.Questions == nil {
		return tools.Answer{}, errors.New("the user cannot be asked in this session")
	}
	return a.Questions.Clarify(ctx, q)
}

// Watched returns a watch for the extensions of a session.
func Watched(s *gate.Standing, err error) (extension.Watched, error) {
	if err != nil {
		return extension.Watched{}, err
	}
	return extension.Watched{Review: s.Review, Later: s.Later}, nil
}
