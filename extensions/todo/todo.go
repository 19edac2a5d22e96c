// Package todo lets the model keep the plan of a session: a list of items with their status.
package todo

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tools.
const Toolset = "todo"

// New returns the extension.
func New() extension.Extension { return todo{} }

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { _ = Tool(nil) }

type todo struct{}

func (todo) Name() string { return "todo" }

func (todo) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return instance{s.Plan}, nil
}

type instance struct{ plan *tools.Plan }

func (instance) Close(context.Context) error { return nil }

// Tools returns todo.
func (x instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	return []tools.Tool{Tool(x.plan)}, nil
}

// Derive gives a subagent a separate plan. Scripts get none.
func (x instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return instance{s.Plan}, nil
}
