package gate

import (
	"context"

	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// subagent is the gate of a subagent. It asks the user of the session owner.
type subagent struct {
	gate        *Gate
	owner, goal string
}

// ForSubagent implements [tools.Approver].
func (g *Gate) ForSubagent(owner, goal string) tools.Approver { return subagent{g, owner, goal} }

// ForSubagent implements [tools.Approver].
func (s subagent) ForSubagent(_, goal string) tools.Approver {
	return subagent{s.gate, s.owner, goal}
}

// Check implements [tools.Approver].
func (s subagent) Check(ctx context.Context, env *tools.Env, c tools.Call, kind tools.Kind, title string, v policy.Verdict) error {
	return s.gate.check(ctx, s, action{env: env, call: c, kind: kind, title: title, verdict: v})
}

// CheckEdit implements [tools.Approver].
func (s subagent) CheckEdit(ctx context.Context, env *tools.Env, c tools.Call, e tools.Edit) error {
	return s.gate.check(ctx, s, action{env: env, call: c, kind: tools.KindEdit, title: e.Title, verdict: e.Verdict, edit: &e})
}

// Wait implements [tools.Approver].
func (s subagent) Wait(ctx context.Context) (leave func(), err error) { return s.gate.Wait(ctx) }

// Planning implements [tools.Approver].
func (s subagent) Planning() bool { return s.gate.Planning() }
