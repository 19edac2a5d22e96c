package lsp

import (
	"context"
	"errors"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	agentface "github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
)

// setEditor stores the editor state sent by a plugin.
func (s *server) setEditor(_ context.Context, p *acp.EditorState) error {
	s.agent.Client.SetEditor(p)
	return nil
}

// EditorState returns the state sent by the plugin. Without a plugin, it lists the open documents
// in the order of the user's work.
func (h host) EditorState() extension.EditorState {
	if h.s.agent.Client.TellsEditor() {
		return h.s.agent.Client.EditorState()
	}
	state := extension.EditorState{UnsavedUnknown: true}
	for _, f := range h.s.editor.Documents.Used() {
		if h.isChat(f.Path) {
			continue
		}
		if state.Active.Path == "" {
			state.Active = activeOf(f)
		}
		state.Open = append(state.Open, extension.OpenFile{Path: f.Path})
	}
	return state
}

func activeOf(f editor.Used) extension.ActiveFile {
	a := extension.ActiveFile{Path: f.Path}
	if f.At == nil {
		return a
	}
	a.Line, a.Column = int(f.At.Start.Line)+1, int(f.At.Start.Character)+1
	a.First, a.Last = agentface.LinesOf(protocol.Range{Start: protocol.Position(f.At.Start), End: protocol.Position(f.At.End)})
	return a
}

func (h host) isChat(path string) bool {
	for _, root := range h.s.sessions.roots() {
		if chat.IsChat(editor.Resolve(root), path) {
			return true
		}
	}
	return false
}

// Problems asks the plugin: a language server does not receive the diagnostics of others.
func (h host) Problems(ctx context.Context) ([]extension.Problem, error) {
	if h.s.editor.Client.ACP == nil {
		return nil, errors.New("this editor has no plugin of hermes-ls, and does not tell its problems")
	}
	return h.s.agent.Client.Problems(ctx)
}
