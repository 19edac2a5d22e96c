package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Events sees each call of a set, from the model, a script, a subagent or a slash command.
// The order is BeforeCall, the check of the arguments, the gate, the tool, AfterCall.
type Events interface {
	BeforeCall(ctx context.Context, env *Env, t Tool, c Call) Admission
	// AfterCall returns a replacement for r. Known secrets in r are already redacted.
	AfterCall(ctx context.Context, env *Env, t Tool, c Call, r Result) Result
}

// Admission decides whether and how a call runs.
type Admission struct {
	Call   Call    // with the arguments before the next check
	Answer *Result // is the call's result, and the tool does not run; nil: it does
	Ask    string  // completes “it …”: the call requires approval in every mode
	Ended  []func()
	// Running are called when a process of the call starts. Each returns a function to call when it
	// has ended. See [Env.Running].
	Running []func(ctx context.Context) (ended func())
}

func (s *Set) before(ctx context.Context, env *Env, t Tool, c Call) Admission {
	if s.Events == nil {
		return Admission{Call: c}
	}
	return s.Events.BeforeCall(ctx, env, t, c)
}

// end reports the end of the call.
func (b Admission) end() {
	for _, ended := range slices.Backward(b.Ended) {
		ended()
	}
}

// ask asks the user to approve the call, if an event requires it. It returns the Env of the call.
func (b Admission) ask(ctx context.Context, env *Env, t Tool, c Call) (*Env, error) {
	if b.Ask == "" {
		return env, nil
	}
	verdict := policy.Verdict{Level: policy.Asks, Reason: b.Ask, EveryMode: true}
	if env.Gate == nil {
		return env, errors.New("Not run: it " + b.Ask + ", which requires approval, and no user is present to approve it.")
	}
	title := t.Name + " " + string(c.Args)
	if t.AsksLater != nil && t.AsksLater(c) {
		own := *env
		own.EditAsk = b.Ask
		return &own, nil
	}
	if t.Edit == nil {
		return env, env.Gate.Check(ctx, env, c, t.Kind, title, verdict)
	}
	e, err := t.Edit(ctx, env, c)
	if err != nil {
		return env, err
	}
	if e.Verdict.Reason != "" {
		verdict.Reason += "; " + e.Verdict.Reason
	}
	verdict.Level, verdict.Once = max(verdict.Level, e.Verdict.Level), true
	verdict.Commands = append(e.Verdict.Commands, title) // deny rules match it
	e.Verdict = verdict
	own := *env
	own.EditApproved = true
	return &own, env.Gate.CheckEdit(ctx, env, c, e)
}

// after lets the events see a result. Their additions are cleaned, too.
func (s *Set) after(ctx context.Context, env *Env, t Tool, c Call, r Result) Result {
	if s.Events == nil {
		return r
	}
	now := s.Events.AfterCall(ctx, env, t, c, r)
	if same := len(now.JSON) == len(r.JSON) && len(r.JSON) > 0 && &now.JSON[0] == &r.JSON[0]; same && len(now.Shown) == len(r.Shown) {
		return now
	}
	return s.cleaned(t, asObject(t.Name, now))
}

// WithField adds a field at the end of the result's object.
func (r Result) WithField(name string, value any) Result {
	field, err := Marshal(map[string]any{name: value})
	body := bytes.TrimSuffix(bytes.TrimSpace(r.JSON), []byte("}"))
	if err != nil || len(body) < 2 {
		return r
	}
	r.JSON = slices.Concat(body, json.RawMessage(","), field[1:])
	return r
}
