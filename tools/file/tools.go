// Package file provides the tools that read, write, change and search files. They reach files only
// through [tools.Files]. [Recall] records across calls which text the model has. All types are safe
// for concurrent use.
package file

import (
	"context"

	"github.com/hermes-ls/hermes-ls/tools"
)

// Config holds the parts of a session for its file tools.
type Config struct {
	tools.Bounds
	Recall    *Recall   // nil: nothing is remembered from call to call
	Diagnoser Diagnoser // nil: no editor reports on edits
	Late      *Late     // nil: late problems of an edit are not reported
}

// Tools returns the file tools of a session.
func Tools(c Config) []tools.Tool {
	return []tools.Tool{readTool(c), writeTool(c), patchTool(c), searchTool(c)}
}

type callEnv struct {
	*tools.Env
	Config
}

// with returns a tool's function and passes it the session's parts.
func with[In any](c Config, run func(context.Context, *callEnv, tools.Call, In) (tools.Result, error)) func(context.Context, *tools.Env, tools.Call, In) (tools.Result, error) {
	return func(ctx context.Context, env *tools.Env, call tools.Call, in In) (tools.Result, error) {
		return run(ctx, &callEnv{env, c}, call, in)
	}
}

// editOf returns the [tools.Tool.Edit] of a tool. Invalid arguments are an error, as for the tool.
func editOf[In any](c Config, edit func(context.Context, *callEnv, In) (tools.Edit, error)) func(context.Context, *tools.Env, tools.Call) (tools.Edit, error) {
	return func(ctx context.Context, env *tools.Env, call tools.Call) (tools.Edit, error) {
		in, err := tools.Decode[In](call.Args)
		if err != nil {
			return tools.Edit{}, err
		}
		return edit(ctx, &callEnv{env, c}, in)
	}
}
