// Package vision lets the model look at a picture: a file, an address or a data URL.
package vision

import (
	"context"
	"slices"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tool.
const Toolset = "vision"

// New returns the extension.
func New() extension.Extension { return feature{} }

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { _ = (&instance{}).tool() }

type feature struct{}

func (feature) Name() string { return "vision" }

func (feature) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{s.Models, s.Fetch, s.Bounds}, nil
}

type instance struct {
	models extension.Models // of the session, also in a subagent
	fetch  func(ctx context.Context, address string) ([]byte, error)
	bounds tools.Bounds
}

func (*instance) Close(context.Context) error { return nil }

// Derive lets subagents look, too. Scripts and replays do not.
func (x *instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return &instance{x.models, x.fetch, s.Bounds}, nil
}

// Tools returns the tool if it can work. A stored session keeps it.
func (x *instance) Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error) {
	t := x.tool()
	had := slices.ContainsFunc(stored, func(s tools.Spec) bool { return s.Name == t.Name })
	if stored != nil && !had || stored == nil && !x.models.Looks(ctx) {
		return nil, nil
	}
	return []tools.Tool{t}, nil
}
