package plan

import (
	"context"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
)

const toolName = "present_plan"

type input struct {
	Plan string `json:"plan" jsonschema:"Markdown"`
}

func (x *instance) tool() tools.Tool {
	return tools.New(tools.Tool{
		Name: toolName, Toolset: "plan", Order: -15, Kind: tools.KindSwitchMode, Plans: true,
		Description: "Only in plan mode: hand in your whole plan (steps, files, checks). The user chooses whether you start.",
		Title:       tools.Titled(func(input) string { return "Plan" }),
	}, x.present)
}

// present runs a call of the tool. If the user keeps planning, the turn ends.
func (x *instance) present(ctx context.Context, _ *tools.Env, call tools.Call, in input) (tools.Result, error) {
	plan := strings.TrimSpace(tools.Outside(in.Plan))
	switch {
	case !x.planning():
		return tools.Fail("The session is not in plan mode, so nothing waits for a plan. Do the work."), nil
	case plan == "":
		return tools.Fail("plan is empty. Call present_plan again with the whole plan, as Markdown."), nil
	}
	choice, err := x.choose(ctx, call, plan, false)
	if err != nil {
		return tools.Result{}, err
	}
	shown := tools.Content{Text: plan}
	if choice == choicePlan {
		r := tools.OK(map[string]string{"decision": "plan", "note": "The user keeps planning. Wait for the next message."}).With(shown)
		r.EndsTurn = true
		return r, nil
	}
	x.changed(ctx, false)
	return tools.OK(map[string]string{"decision": "approved", "mode": string(choice), "note": startText}).With(shown), nil
}
