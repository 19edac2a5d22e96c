// Package plan is plan mode for the model: it reports the mode to the model, takes its plan, and
// asks the user how to start the work. The limits of calls in plan mode are in packages tools and
// gate.
package plan

import (
	"context"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// New returns the extension.
func New() extension.Extension { return feature{} }

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { _ = (&instance{}).tool() }

type feature struct{}

func (feature) Name() string { return "plan" }

func (feature) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{session: s}, nil
}

type instance struct {
	session *extension.Session

	mu           sync.Mutex
	lastReported *bool // whether the last notice to the model reported plan mode; nil: read from the store
}

func (*instance) Close(context.Context) error { return nil }

// planning reports whether the session is in plan mode.
func (x *instance) planning() bool { return x.session.Mode() == "plan" }

// Tools returns present_plan. It is always offered, because the tools do not change when the
// mode does.
func (x *instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	return []tools.Tool{x.tool()}, nil
}

const (
	beganText = "Plan mode is on. Read and search only: calls that change something, need approval or use the network are rejected. Hand your plan in with present_plan. The user then chooses whether you start."
	endedText = "Plan mode is off. Calls may change files again."
	childText = "Plan mode is on: read and search only. Calls that change something, need approval or use the network are rejected."
	startText = "The user has approved the plan. Plan mode is off. Start now."
)

// Notices reports the beginning and end of plan mode to the model.
func (x *instance) Notices(ctx context.Context, _ extension.When) []string {
	now := x.planning()
	if !x.changed(ctx, now) {
		return nil
	}
	if now {
		return []string{beganText}
	}
	return []string{endedText}
}

// reportedKey is the name of lastReported in the store.
const reportedKey = "told"

// changed reports whether the mode differs from the mode last reported to the model, and saves it.
func (x *instance) changed(ctx context.Context, now bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lastReported == nil {
		x.lastReported = new(bool)
		if x.session.State != nil && !x.session.New {
			_, _ = x.session.State.Load(ctx, reportedKey, x.lastReported) // if it cannot be read, the model gets the notice again
		}
	}
	if *x.lastReported == now {
		return false
	}
	*x.lastReported = now
	if x.session.State != nil {
		_ = x.session.State.Save(context.WithoutCancel(ctx), reportedKey, now) // the same
	}
	return true
}

// Hooks are called at the end of a turn, and when a subagent starts.
func (x *instance) Hooks() extension.Hooks {
	return extension.Hooks{Events: []extension.Handlers{{
		Limit:     extension.NoLimit,
		AfterTurn: x.afterTurn,
		SubagentStart: func(context.Context, extension.SubagentEvent) (string, error) {
			if x.planning() {
				return childText, nil
			}
			return "", nil
		},
	}}}
}

// afterTurn presents the last text of a turn as the plan.
func (x *instance) afterTurn(ctx context.Context, t extension.TurnEnd) (d extension.TurnDecision, err error) {
	answer := strings.TrimSpace(t.Answer)
	if !x.planning() || t.Stop != "end_turn" || answer == "" || t.Waiting {
		return d, nil
	}
	id := "plan-" + uuid.NewString()
	choice, err := x.choose(ctx, tools.Call{ID: id, Name: toolName}, answer, true)
	if err == nil && choice != choicePlan {
		d.Continue = startText
		x.changed(ctx, false)
	}
	return d, nil
}

// The values are ids of options, and of modes.
const (
	choiceAsk  tools.Decision = "ask"
	choiceAuto tools.Decision = "auto"
	choicePlan tools.Decision = "plan"
)

// choose asks the user how to go on with a plan, and changes the mode. Without an answer,
// the mode stays.
func (x *instance) choose(ctx context.Context, call tools.Call, plan string, alone bool) (tools.Decision, error) {
	choice, err := x.session.Decide(ctx, tools.ApprovalRequest{
		Call: call, Kind: tools.KindSwitchMode, Title: "Plan", Text: plan, Alone: alone,
		Choices: []tools.Choice{
			{ID: choiceAsk, Label: "Start with approvals", Allows: true},
			{ID: choiceAuto, Label: "Start without asking", Allows: true, Lasting: true},
			{ID: choicePlan, Label: "Keep planning"},
		},
	})
	if ctx.Err() != nil || !x.planning() {
		return choicePlan, ctx.Err()
	}
	if err != nil || choice != choiceAsk && choice != choiceAuto {
		return choicePlan, nil
	}
	return choice, x.session.SetMode(ctx, string(choice))
}
