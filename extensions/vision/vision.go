// Package vision lets the model look at a picture: a file, an address or a data URL.
package vision

import (
	"context"
	"slices"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tool.
const Toolset = "vision"

// Options are the parts of a session used by the extension.
type Options struct {
	// Offered reports whether the session's model is known to see pictures, or another model
	// answers.
	Offered func(ctx context.Context) bool
	// Look asks another model about a picture. If none is set, asked is false.
	Look func(ctx context.Context, picture model.Image, system, question string) (d model.Description, asked bool, err error)
	// Fetch returns the content of an address, by the rules of the web tools.
	Fetch func(ctx context.Context, address string) ([]byte, error)
}

// New returns the extension.
func New(o Options) extension.Extension { return feature{o} }

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { _ = (&instance{}).tool() }

type feature struct{ options Options }

func (feature) Name() string { return "vision" }

func (f feature) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{f.options, s.Bounds}, nil
}

type instance struct {
	Options
	bounds tools.Bounds
}

func (*instance) Close(context.Context) error { return nil }

// Derive lets subagents look, too. Scripts and replays do not.
func (x *instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return &instance{x.Options, s.Bounds}, nil
}

// Tools returns the tool if it can work. A stored session keeps it.
func (x *instance) Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error) {
	t := x.tool()
	had := slices.ContainsFunc(stored, func(s tools.Spec) bool { return s.Name == t.Name })
	if stored != nil && !had || stored == nil && !x.Offered(ctx) {
		return nil, nil
	}
	return []tools.Tool{t}, nil
}
