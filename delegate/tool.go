package delegate

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// ToolName is the name of the tool.
const ToolName = "delegate_task"

// Toolset is the toolset of the tool.
const Toolset = "delegation"

//go:embed delegate.md
var words string

// Preload makes the tool's input schema, which stays in memory.
func Preload() { tools.Preload[input]() }

// Tool is delegate_task.
func (x *Children) Tool() tools.Tool {
	t := tools.New(tools.Tool{
		Name: ToolName, Toolset: Toolset, Order: -40, Kind: tools.KindOther, Tracked: true, Plans: true,
		Description: strings.TrimSpace(words),
		Advice:      "Start a subagent (" + ToolName + ") for large separate work, such as research over many files.",
		ResultCap:   1 << 20, // each summary is limited separately
		Title:       title,
		Interrupted: x.interrupted,
	}, x.call)
	return x.withAgents(t)
}

func title(args json.RawMessage) string {
	var in input
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	switch in.Action {
	case actionList:
		return "List subagents"
	case actionWait:
		return "Wait for subagents"
	case actionMessage:
		return "Tell a subagent: " + shorten.OneLine(in.Message, 60)
	case actionStop:
		return "Stop a subagent"
	}
	if n := len(in.Tasks); n > 1 {
		return fmt.Sprintf("Delegate %d tasks", n)
	}
	return "Delegate: " + headline(in.asked()[0].Goal, 80)
}

// call runs a call of the tool.
func (x *Children) call(ctx context.Context, env *tools.Env, c tools.Call, in input) (tools.Result, error) {
	if x.Depth >= x.Limits().Depth {
		return tools.Fail("%v. Do it yourself.", errTooDeep), nil
	}
	switch in.Action {
	case actionList:
		return x.list(ctx, env), nil
	case actionWait:
		return x.wait(ctx, env, c, in), nil
	case actionMessage:
		return x.callMessage(ctx, env, in), nil
	case actionStop:
		return x.callStop(in), nil
	}
	tasks, err := x.plan(ctx, env, c, in)
	if err != nil {
		return tools.Fail("delegate_task: %v. Nothing was started.", err), nil
	}
	batch, err := x.start(ctx, env, tasks)
	if err != nil {
		return tools.Fail("delegate_task: %v. Nothing was started.", err), nil
	}
	if in.Background {
		return tools.OK(map[string]any{"subagents": statuses(batch), "note": "They work in the background. Continue with other work, or end your turn: the results come by themselves. Action wait waits for them."}), nil
	}
	await(env, c, batch)
	return results(env, batch), nil
}

var errTooDeep = errors.New("subagents of subagents are not allowed here (delegation.max_spawn_depth)")

// spawn runs a subagent for an extension, and returns when it has ended.
func spawn(ctx context.Context, x *Children, t extension.Task) (r extension.Report, err error) {
	if x.Depth >= x.Limits().Depth {
		return r, errTooDeep
	}
	env, err := x.sessionEnv()
	if err != nil {
		return r, err
	}
	tasks, err := x.plan(ctx, env, tools.Call{}, input{Goal: t.Goal, Context: t.Context, Toolsets: t.Toolsets})
	if err != nil {
		return r, err
	}
	batch, err := x.start(ctx, env, tasks)
	if err != nil {
		return r, err
	}
	<-batch[0].done
	batch[0].markDelivered()
	o := batch[0].outcome
	return extension.Report{Summary: o.Summary, Status: o.Status, Error: strings.TrimSuffix(o.Error, askForReport)}, nil
}

// await waits until all children of a batch have ended, and shows the number of finished
// children.
func await(env *tools.Env, c tools.Call, batch []*child) {
	for n, child := range batch {
		if env.Progress != nil && len(batch) > 1 {
			env.Progress(tools.Progress{CallID: c.ID, Message: fmt.Sprintf("%d of %d done", n, len(batch))})
		}
		<-child.done
	}
}

// start starts a subagent for each task, or none.
func (x *Children) start(ctx context.Context, env *tools.Env, tasks []*Task) ([]*child, error) {
	limits := x.Limits()
	together := &budget{limit: limits.Tokens}
	batch, err := x.roster.admit(len(tasks), limits.Children, func(i int) *child {
		base := ctx
		if tasks[i].Background {
			base = x.ctx
		}
		x.atWork.Add(1)
		return x.newChild(base, env, tasks[i])
	})
	if err != nil {
		return nil, err
	}
	for _, c := range batch { // in the order of the tasks
		c.budget = together
		together.children = append(together.children, c)
		x.emit(c.startEvent())
	}
	for _, c := range batch {
		go func() {
			defer x.atWork.Done()
			x.run(c, limits)
			x.announce(c)
		}()
	}
	return batch, nil
}

// headline returns the first line of a goal.
func headline(goal string, limit int) string {
	first, _, _ := strings.Cut(strings.TrimSpace(goal), "\n")
	return shorten.OneLine(first, limit)
}

func remarshal(from, to any) error {
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}
