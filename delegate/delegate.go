// Package delegate is the delegate_task tool: subagents that each work on a task in
// a conversation of their own, and report.
//
// [Children] are the subagents of one session. Each is an [agent.Session], linked to
// its parent in the store, with its own shell, plan and memory of files, and with
// no tool that its parent lacks. Whatever ends one (its report, a limit, a cancel,
// an error), there is a result with the work so far, and the others go on. The end
// of a call's context ends the children that it waits for; [Children.Close] ends
// those in the background. Neither returns while one still runs.
//
// Everything here is safe for concurrent use.
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
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Config is what subagents are made of.
type Config struct {
	Store *store.Store // required
	// Model answers which model works on a task; route is empty where the task asks
	// for none. Required.
	Model  func(ctx context.Context, route string) (Model, error)
	Limits func() Limits // required; asked at each call
	Cwd    string        // the parent's, as the list of sessions knows it

	Sink   agent.Sink   // takes ChildStarted, ChildEvent and ChildEnded; nil: nobody looks
	Ended  func()       // called when a result of work in the background waits; nil: nobody cares
	Runner Runner       // nil: children are sessions of this process
	Host   string       // the editor, for the children's prompt
	Log    *slog.Logger // nil: nothing is logged
	// Sandbox bounds what is started to look at what dead servers have left; nil:
	// nothing does. What a call starts is bounded by the call's.
	Sandbox *sandbox.Box
	Depth   int // of the parent: 0 in a session that a person talks to
	// Extensions returns those of the parent's session; nil: there are none.
	Extensions func() *extension.Set
}

// Model is a model for a subagent.
type Model struct {
	model.Model
	Name   string
	Window int // tokens; 0: unknown
}

// Limits bound subagents.
type Limits struct {
	Children   int           // at once
	Depth      int           // 1: children, no grandchildren
	Iterations int           // requests to the model
	Toolsets   []string      // of a task that asks for none
	Inactivity time.Duration // without a sign of life; 0: for ever
	Tokens     int           // of the children of one call together; 0: no limit
}

// Children are the subagents of one session.
type Children struct {
	Config
	ctx    context.Context // of the work in the background
	cancel context.CancelCauseFunc
	atWork sync.WaitGroup

	sinkMu sync.Mutex // held while the sink is told something

	sweeping sync.Mutex // held while what dead servers have left is looked at

	mu       sync.Mutex
	env      *tools.Env  // what the session lends, for work that no call began
	all      []*child    // of this process, in the order of their beginning
	below    []*Children // of subagents at work: those of their own
	restored bool        // those of the store have been looked at
	closed   bool
}

// New makes the subagents of a session: none yet.
func New(c Config) *Children {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Extensions == nil {
		c.Extensions = func() *extension.Set { return &extension.Set{} }
	}
	x := &Children{Config: c}
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

// lentTools are the session's; nil: it has not begun.
func (x *Children) lentTools() *tools.Set {
	env, err := x.sessionEnv()
	if err != nil {
		return nil
	}
	return env.Tools
}

// Close ends every subagent and waits for them, or for ctx.
func (x *Children) Close(ctx context.Context) error {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.cancel(errClosing)
	gone := make(chan struct{})
	go func() { x.atWork.Wait(); close(gone) }()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Why a subagent ends before its work does.
var (
	errClosing  = errors.New("the session was closed")
	errStopped  = errors.New("stopped alone, by the user or the agent that delegated")
	errInactive = errors.New("no sign of life")
	errTokens   = errors.New("the tokens of the call are used up (delegation.max_batch_tokens)")
)

// emit tells the sink, one event at a time.
func (x *Children) emit(e agent.Event) {
	if x.Sink == nil {
		return
	}
	x.sinkMu.Lock()
	defer x.sinkMu.Unlock()
	x.Sink.Event(e)
}

// Event passes on what grandchildren tell.
func (x *Children) Event(e agent.Event) { x.emit(e) }
