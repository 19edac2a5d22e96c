package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Extension returns the extension. C has the parts of the process and of the core;
// the session sets the others. Its configuration section is a [Limits].
// agents returns the kinds of subagents of a session.
func Extension(c Config, agents func(*extension.Set) []Agent) extension.Extension {
	return delegation{c, agents}
}

type delegation struct {
	Config
	agents func(*extension.Set) []Agent
}

func (delegation) Name() string { return Toolset }

func (e delegation) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	c := e.Config
	c.Cwd, c.Ended, c.Bounds, c.Sandbox, c.Describe, c.Extensions = s.Cwd, s.Wake, s.Bounds, s.Bounds.Sandbox, s.Describe, s.Extensions
	c.Model = func(ctx context.Context, route string) (Model, error) {
		m, name, window, err := s.Model(ctx, route)
		return Model{Model: m, Name: name, Window: window, Sees: func(ctx context.Context) bool { return model.CanSee(ctx, m, false) }}, err
	}
	c.Agents = func() []Agent { return e.agents(s.Extensions()) }
	c.Limits = func() (l Limits) {
		if err := s.Config(&l); err != nil {
			c.Log.Warn("the limits of subagents cannot be read", "error", err)
		}
		return l
	}
	return &Instance{Children: New(c), session: s}, nil
}

var _ extension.Spawner = (*Instance)(nil)

// Instance holds the subagents of a session, as an extension.
type Instance struct {
	*Children
	session *extension.Session
	swept   sync.Once
}

// Hooks ends the background subagents of a turn canceled by the user, and reports waiting results.
func (x *Instance) Hooks() extension.Hooks {
	return extension.Hooks{
		Events: []extension.Handlers{{Limit: extension.NoLimit, Turn: x.begin}},
		Opened: x.opened, ToolsListed: x.SetEnv, Status: x.status,
		Waiting: x.waiting, StartsTurn: x.startsTurn, Cancel: x.cancelAll,
	}
}

// opened removes the worktrees of the session's subagents left by dead servers.
func (x *Instance) opened([]any) (start func()) {
	x.swept.Do(func() {
		x.Sweep(x.session.Folders()[0])
		if x.session.New {
			x.SetNew()
		}
	})
	return nil
}

// Tools returns delegate_task.
func (x *Instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	return []tools.Tool{x.Tool()}, nil
}

// canceledWait is how long a prompt waits for the results of subagents canceled by the user. It
// is longer than the grace period of a command.
const canceledWait = 8 * time.Second

func (x *Instance) begin(ctx context.Context, p extension.Prompt) (ended func(), err error) {
	if !p.Note {
		x.NextPrompt()
	}
	cancel := func() {
		if tools.CanceledByUser(ctx) {
			current := x.promptNumber() // also of subagents started because of others' results
			x.roster.cancel(context.Cause(ctx), func(c *child) bool { return c.prompt == current })
		}
	}
	stop := context.AfterFunc(ctx, cancel)
	return func() {
		stop()
		cancel() // until now, a call could start a subagent
	}, nil
}

// Notices returns the results of background subagents.
func (x *Instance) Notices(ctx context.Context, when extension.When) []string {
	if when != extension.WithPrompt {
		x.Confirm() // the prompt is stored by now
		return nil
	}
	ended, stop := context.WithTimeout(ctx, canceledWait)
	defer stop()
	x.roster.awaitCanceled(ended)
	if text := x.Notice(ctx, x.session.ID); text != "" {
		return []string{text}
	}
	return nil
}

// waiting reports whether there are results that the user does not know of, including results
// from an earlier server.
func (x *Instance) waiting() bool {
	return x.Children.Waiting() > 0 || len(x.storedWaiting(context.Background(), x.session.ID)) > 0
}

// startsTurn reports whether results start a turn. Results of subagents interrupted by the user
// or by the end of their session wait for a prompt.
func (x *Instance) startsTurn() bool {
	return x.Limits().StartTurn && slices.ContainsFunc(x.Ready(), func(s Status) bool { return s.Status != interrupted })
}

// Ready describes the subagents with waiting results.
func (x *Instance) Ready() []Status {
	return append(x.storedWaiting(context.Background(), x.session.ID), x.Children.Ready()...)
}

// Close ends the subagents.
func (x *Instance) Close(ctx context.Context) error {
	if err := x.Children.Close(ctx); err != nil {
		return fmt.Errorf("waiting for subagents: %w", err)
	}
	return nil
}

// All lists the session's subagents, including subagents of earlier processes.
func (x *Instance) All(ctx context.Context) ([]Status, error) { return x.List(ctx, x.session.ID) }

// Send sends a message to a subagent. A finished subagent is resumed.
func (x *Instance) Send(ctx context.Context, id, text string) error {
	if err := x.Message(ctx, id, text); err != nil {
		return extension.BadInput("subagentId", "%v", err)
	}
	return nil
}

// Spawn runs a subagent for an extension, and returns when it has ended.
func (x *Instance) Spawn(ctx context.Context, t extension.Task) (extension.Report, error) {
	return spawn(ctx, x.Children, t)
}

// Cancel ends a subagent. If it had already ended, it returns false.
func (x *Instance) Cancel(id string) (bool, error) {
	stopped, err := x.Stop(id)
	if err != nil {
		return false, extension.BadInput("subagentId", "%v", err)
	}
	return stopped, nil
}

// status is the line of /status.
func (x *Instance) status(ctx context.Context) (name, text string) {
	if list, err := x.List(ctx, x.session.ID); err == nil && len(list) > 0 {
		return "Subagents", fmt.Sprint(len(list))
	}
	return "", ""
}

// Prompt is the prompt that delegates tasks without a model request; args are the tool's
// arguments.
func Prompt(goals []string, args json.RawMessage) agent.Input {
	text := "Delegate: " + strings.Join(goals, "\n")
	if len(goals) > 1 {
		text = fmt.Sprintf("Delegate %d tasks:\n\n- %s", len(goals), strings.Join(goals, "\n- "))
	}
	return agent.Input{Text: text, Calls: []tools.Call{{Name: ToolName, Args: args}}}
}

// Table holds the rows of the command table.
var Table = []extension.Command{
	{Execute: "hermes.delegate", VSCode: "hermes.delegate", Neovim: "delegate", Title: "Delegate…", Description: "Delegate a goal to a subagent", Order: 7},
	{Execute: "hermes.subagent.list", VSCode: "hermes.subagents", Neovim: "subagents", Title: "Subagents…", Description: "Show the subagents", Order: 8},
	{Execute: "hermes.subagent.message", Description: "Send a message to a subagent", Order: 9},
	{Execute: "hermes.subagent.stop", Description: "Cancel a subagent", Order: 9},
}
