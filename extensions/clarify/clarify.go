// Package clarify lets the model ask the user a question.
package clarify

import (
	"context"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tools.
const Toolset = "clarify"

// Config is the configuration section.
type Config struct {
	Timeout time.Duration // how long a question stands
}

// New returns the extension.
func New() extension.Extension { return clarify{} }

type clarify struct{}

func (clarify) Name() string { return "clarify" }

func (clarify) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return instance{s}, nil
}

type instance struct{ session *extension.Session }

func (instance) Close(context.Context) error { return nil }

// Tools returns clarify. It is offered if the host can ask the user.
func (x instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	var c Config
	if err := x.session.Config(&c); err != nil {
		return nil, err
	}
	return []tools.Tool{Clarify(x.session.Ask, c.Timeout)}, nil
}
