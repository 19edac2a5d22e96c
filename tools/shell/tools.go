// Package shell provides the tools that run commands. A [Shell] keeps the working directory and the
// exports across commands, and [Processes] keeps the commands in the background. All types are safe
// for concurrent use.
package shell

import (
	"context"

	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tools.
const Toolset = "terminal"

// Config holds the parts of a session for its commands.
type Config struct {
	tools.Bounds
	Shell     *Shell     // the working directory and the exports of the session; nil: no commands can run
	Processes *Processes // the background commands; nil: there can be none
	Terminals Terminals  // the editor's own terminals; nil: it has none
}

// Tools returns the tools of a session for running commands.
func Tools(c Config) []tools.Tool { return []tools.Tool{terminalTool(c), processTool(c)} }

type callEnv struct {
	*tools.Env
	Config
}

// bounded returns an error if commands can write in plan mode: there is no sandbox, or commands run
// elsewhere.
func (env *callEnv) bounded() error {
	switch {
	case !env.Planning:
		return nil
	case env.Shell.on != nil || env.Shell.broken != nil:
		return tools.Rejected("session runs commands on another machine or in a container, where nothing keeps them from writing")
	case !sandbox.Strict(env.Sandbox):
		return tools.Rejected("session has no sandbox that keeps commands from writing")
	}
	return nil
}

// with returns a tool's function and passes it the session's parts.
func with[In any](c Config, run func(context.Context, *callEnv, tools.Call, In) (tools.Result, error)) func(context.Context, *tools.Env, tools.Call, In) (tools.Result, error) {
	return func(ctx context.Context, env *tools.Env, call tools.Call, in In) (tools.Result, error) {
		own := c
		own.Bounds = c.Bounds.For(env)
		return run(ctx, &callEnv{env, own}, call, in)
	}
}
