// Package delegate implements the delegate_task tool: subagents that work on tasks in separate
// sessions.
//
// [Children] are the subagents of a session. Each is an [agent.Session], linked to its parent
// in the store, with its own shell, plan and record of files. Its tools are a subset of its
// parent's. If a subagent ends, there is a result with the work so far, and the others
// continue. It may end by its report, a limit, a cancel or an error. The end of a call's
// context ends its foreground children. [Children.Close] ends the background children. The call
// and Close return after the children have ended.
//
// All types are safe for concurrent use.
//
//	children := delegate.New(delegate.Config{Store: st, Model: pick, Limits: limits, Sink: sink})
//	err := set.Add(children.Tool())
package delegate

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Config is the configuration of the subagents of a session.
type Config struct {
	Store *store.Store // required
	// Model returns the model of a route. The route is empty if the task names none. Required.
	Model func(ctx context.Context, route string) (Model, error)
	// Describe describes a picture for a model without vision, see [agent.Config]. It may be
	// nil.
	Describe func(ctx context.Context, picture model.Image, prompt string) (d model.Description, asked bool, err error)
	Limits   func() Limits // required; called at each call
	Cwd      string        // of the parent's stored session

	Sink   agent.Sink // gets ChildStarted, ChildEvent and ChildEnded; may be nil
	Ended  func()     // called when a result of a background subagent is ready; may be nil
	Runner Runner     // nil: subagents are sessions of this process
	Host   string     // the editor, for the children's prompt
	// Facts returns the bounds of commands, for the children's prompt; nil: unknown.
	Facts  func() prompt.Facts
	Log    *slog.Logger // nil: nothing is logged
	Bounds tools.Bounds // of the session's calls
	// Sandbox bounds the recovery of worktrees of dead servers. Nil means no bounds.
	Sandbox *sandbox.Box
	Depth   int // of the parent; 0 in a session of a host
	// Agents returns the kinds of subagents. It may be nil.
	Agents func() []Agent
	// Extensions returns the extensions of the parent's session. It may be nil.
	Extensions func() *extension.Set
}

// Model is a model for a subagent.
type Model struct {
	model.Model
	Name   string
	Window int // tokens; 0: unknown
	// Sees reports whether the model gets pictures. Nil: it does not.
	Sees func(ctx context.Context) bool
}

// Limits are the limits of subagents.
type Limits struct {
	Children   int           // at once
	Depth      int           // 1: children, no grandchildren
	Iterations int           // requests to the model
	Toolsets   []string      // for tasks without toolsets
	Inactivity time.Duration // without an event; 0: no limit
	Tokens     int           // of all children of a call; 0: no limit
	StartTurn  bool          // results of background subagents start a turn
}

// Children are the subagents of a session.
type Children struct {
	Config
	ctx    context.Context // of the background work
	cancel context.CancelCauseFunc
	atWork sync.WaitGroup

	roster  roster  // of this process
	archive archive // of the store

	sinkMu sync.Mutex // held while the sink gets an event

	sweeping sync.Mutex // held while the worktrees of dead servers are recovered

	mu       sync.Mutex
	env      *tools.Env // for work without a call
	restored bool       // the stored subagents were loaded
	earlier  []Status   // stored subagents with waiting results; see storedWaiting
	asked    bool       // earlier is known
	prompts  int        // number of the user's prompts so far
}

// New makes the Children of a session, without subagents.
func New(c Config) *Children {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Extensions == nil {
		c.Extensions = func() *extension.Set { return &extension.Set{} }
	}
	x := &Children{Config: c, archive: archive{c.Store, c.Log}}
	if x.Runner == nil {
		x.Runner = local{x}
	}
	x.ctx, x.cancel = context.WithCancelCause(context.Background())
	return x
}

// SetEnv sets the Env of the session's calls, with its id and its tools. It is used if the
// user sends a message to a subagent while no call runs.
func (x *Children) SetEnv(env *tools.Env) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.env = env
}

// sessionEnv returns the Env of the session's calls. Before the first prompt, it returns an
// error.
func (x *Children) sessionEnv() (*tools.Env, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.env == nil {
		return nil, errors.New("the session has not begun")
	}
	return x.env, nil
}

// sessionTools returns the session's tools. Before the first prompt, it returns nil.
func (x *Children) sessionTools() *tools.Set {
	env, err := x.sessionEnv()
	if err != nil {
		return nil
	}
	return env.Dispatch.Set
}

// promptNumber returns the number of the user's last prompt.
func (x *Children) promptNumber() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.prompts
}

// NextPrompt records a new prompt of the user. Later subagents belong to it.
func (x *Children) NextPrompt() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.prompts++
}

// cancelAll ends all background subagents, and does not wait for them. If none runs, it
// returns false.
func (x *Children) cancelAll(cause error) bool {
	return x.roster.cancel(cause, func(*child) bool { return true })
}

// Close ends every subagent and waits for them, or for ctx.
func (x *Children) Close(ctx context.Context) error {
	x.roster.close()
	x.cancel(errClosing)
	ended := make(chan struct{})
	go func() { x.atWork.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Causes of the end of a subagent before its work is complete.
var (
	errClosing  = errors.New("the session was closed")
	errStopped  = errors.New("stopped alone, by the user or the agent that delegated")
	errInactive = errors.New("no sign of life")
	errTokens   = errors.New("the tokens of the call are used up (delegation.max_batch_tokens)")
)

// emit passes events to the sink, never concurrently.
func (x *Children) emit(e agent.Event) {
	if x.Sink == nil {
		return
	}
	x.sinkMu.Lock()
	defer x.sinkMu.Unlock()
	x.Sink.Event(e)
}

// Event passes on the events of grandchildren.
func (x *Children) Event(e agent.Event) { x.emit(e) }
