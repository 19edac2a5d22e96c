// Package files gives a session the file tools: they read, write, change and search the
// files of the workspace.
package files

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
)

// Toolset is the toolset of the tools.
const Toolset = "file"

// New returns the extension. problems returns the reporter on edits in a session. It may be nil.
func New(problems func(*extension.Session) file.Diagnoser) extension.Extension {
	return feature{problems}
}

// Preload makes the input schemas of the tools, which stay in memory.
func Preload() { _ = file.Tools(file.Config{}) }

type feature struct {
	problems func(*extension.Session) file.Diagnoser
}

func (feature) Name() string { return "files" }

func (e feature) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	c := file.Config{Bounds: s.Bounds, Recall: file.NewRecall(), Late: new(file.Late)}
	if e.problems != nil {
		c.Diagnoser = e.problems(s)
	}
	return &instance{session: s, config: c}, nil
}

var _ extension.Edits = (*instance)(nil)

type instance struct {
	session *extension.Session
	config  file.Config
}

// Close ends the questions about edited files.
func (x *instance) Close(context.Context) error {
	x.config.Late.Close()
	return nil
}

// order places the tools before the tools of other extensions.
const order = -100

// Tools returns the file tools.
func (x *instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	list := file.Tools(x.config)
	for i := range list {
		list[i].Order = order
	}
	return list, nil
}

// Notices returns the problems of edits that were found after the results.
func (x *instance) Notices(ctx context.Context, _ extension.When) []string {
	if x.config.Late == nil {
		return nil
	}
	if text := x.config.Late.Found(ctx); text != "" {
		return []string{text}
	}
	return nil
}

// Edit makes the edits of another tool. See [extension.Edits].
func (x *instance) Edit(ctx context.Context, env *tools.Env, call tools.Call, actions []workspace.Action, replaced int) (tools.Result, error) {
	return file.Apply(ctx, x.config, env, call, actions, replaced)
}

// Hooks makes the next read of a file return its whole text again if the model may have lost it.
func (x *instance) Hooks() extension.Hooks {
	return extension.Hooks{HistoryChanged: func(extension.Change) { x.config.Recall.Forget() }}
}

// Derive gives a subagent tools that remember the subagent's reads. If its files are not the
// editor's, no editor reports on its edits. A script gets tools without memory, because their
// results do not reach the model.
func (x *instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	switch kind {
	case extension.Subagent:
		d := &instance{session: s, config: file.Config{Bounds: s.Bounds, Recall: file.NewRecall()}}
		if s.Folders()[0] == x.session.Folders()[0] {
			d.config.Diagnoser, d.config.Late = x.config.Diagnoser, new(file.Late)
		}
		return d, nil
	case extension.Script:
		return &instance{session: x.session, config: file.Config{Bounds: s.Bounds}}, nil
	}
	return nil, nil
}
