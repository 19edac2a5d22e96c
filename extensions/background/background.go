// Package background tells user and model about the commands that a session runs in the
// background, and ends them with the session.
package background

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// New returns the extension. Show shows a text to the user at once.
func New(show func(text string)) extension.Extension { return background{show} }

type background struct{ show func(string) }

func (background) Name() string { return "background" }

func (e background) Open(context.Context, *extension.Session) (extension.Instance, error) {
	return instance{tools.NewProcesses(e.show)}, nil
}

type instance struct{ *tools.Processes }

// Background returns the session's processes.
func (x instance) Background() *tools.Processes { return x.Processes }

// Notices returns the news of the processes.
func (x instance) Notices(context.Context, extension.When) []string { return x.News() }

// Derive gives a subagent processes of its own. The user is not told about them.
func (x instance) Derive(_ context.Context, kind extension.Kind, _ *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return instance{tools.NewProcesses(nil)}, nil
}
