package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	service "github.com/hermes-ls/hermes-ls/server"
	agentface "github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/lsp/editor"
	"github.com/hermes-ls/hermes-ls/tools/file"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// preset is the toolset of sessions on this face.
const preset = "lsp"

// host lends the editor to its sessions: its documents, and its user.
type host struct{ s *server }

func (h host) Documents(string) workspace.Documents { return h.s.editor.Documents }

// SettingsChanged shows the settings of a session, if the editor gets updates.
func (h host) SettingsChanged(x *service.Session) {
	if h.s.sessions.updates(x.ID()) {
		h.s.agent.Client.SettingsChanged(x)
	}
}

// ShowProblem shows a problem of the configuration at once: the user may be editing it in this
// editor.
func (h host) ShowProblem(text string) { h.s.editor.Show(lsp.MessageTypeWarning, "Hermes: %s", text) }

// OpenAddress lets the editor open the page of a login.
func (h host) OpenAddress(ctx context.Context, _, _, address string) bool {
	return h.s.editor.OpenAddress(ctx, address)
}

// ShowsOffers marks a chat as a place for offers below an answer.
func (host) ShowsOffers() {}

// CommandsChanged sends the slash commands, if the editor gets updates.
func (h host) CommandsChanged(x *service.Session) {
	if h.s.sessions.updates(x.ID()) {
		h.s.agent.Client.CommandsChanged(x)
	}
}

// Terminals are not lent: LSP has none.
func (h host) Terminals(string) shell.Terminals { return nil }

// Sink sends session/update, if the editor gets updates. Otherwise, the sink of the turn shows the
// events.
func (h host) Sink(sessionID string) agent.Sink {
	if !h.s.sessions.updates(sessionID) {
		return noticeSink{h.s.progress.sink(&h.s.work, nil), h.s, sessionID}
	}
	return h.s.progress.sink(&h.s.work, h.s.agent.Client.Sink(sessionID))
}

// noticeSink shows questions for an answer in the chat: in the chat document of the session's
// running turn, and as a message, because the chat may be hidden.
type noticeSink struct {
	agent.Sink
	s         *server
	sessionID string
}

func (n noticeSink) Event(e agent.Event) {
	if notice, ok := e.(agent.Notice); ok && notice.Asks {
		n.s.chats.set.Note(n.sessionID, notice.Text)
		n.s.editor.Show(lsp.MessageTypeInfo, "Hermes: %s", notice.Text)
		return
	}
	n.Sink.Event(e)
}

// setAgentClient passes on the capabilities of the editor's plugin. On this connection, LSP
// provides files and terminals.
func (s *server) setAgentClient() {
	var said struct {
		Capabilities json.RawMessage `json:"clientCapabilities"`
	}
	_ = json.Unmarshal(s.editor.Client.ACP, &said) // a value other than an object contains no capabilities
	s.agent.Client.SetCapabilities(agentface.ReadClient(said.Capabilities))
}

// agentMethod carries a method of the Agent Client Protocol, which takes its place
// among the commands.
func (s *server) agentMethod(name string) method {
	return func(ctx context.Context, borrowed jsonrpc2.RawMessage, free func()) (any, error) {
		params := json.RawMessage(slices.Clone(borrowed))
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		at := s.queue.acquire(turnOf(name, params))
		defer at.release()
		defer at.begin()
		free()
		if err := at.wait(ctx); err != nil {
			return nil, err
		}
		if agentface.Opens(name) {
			s.settings.wait(ctx)
		}
		result, err := s.agent.Handle(ctx, name, params, func() {
			if name == acp.MethodSessionLoad { // before a prompt that waits for the replay
				s.sessions.wantsUpdates(at.turn.session)
			}
			if at.begin() {
				cancel()
			}
			at.release()
		})
		if err != nil {
			return nil, err
		}
		s.sessions.note(name, params, result)
		encoded, err := raw(result)
		if err != nil || !agentface.Opens(name) {
			return encoded, err
		}
		return followed{encoded, func() { s.agent.Answered(name, params, result) }}, nil
	}
}

// turnOf returns the turn or the replay of a method. If there is none, it returns nil.
func turnOf(name string, params json.RawMessage) *pendingTurn {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	switch name {
	case acp.MethodSessionPrompt, acp.MethodSessionLoad:
		_ = json.Unmarshal(params, &p) // the agent reports the error
		return &pendingTurn{session: p.SessionID}
	}
	return nil
}

// CanDiagnose reports whether a plugin answers: a language server does not receive the diagnostics
// of others.
func (h host) CanDiagnose() bool {
	return h.s.editor.Client.ACP != nil && h.s.agent.Client.CanDiagnose()
}

// Diagnose asks the plugin for the diagnostics of a file.
func (h host) Diagnose(ctx context.Context, path string, wait time.Duration) ([]file.Diagnostic, error) {
	return h.s.agent.Client.DiagnoseURI(ctx, string(h.s.editor.Documents.URI(path)), wait)
}

// LanguageServers returns a function for asking the editor's language servers, through the plugin.
// If there is no plugin, it returns nil.
func (h host) LanguageServers() extension.ServerQuery {
	if h.s.editor.Client.ACP == nil {
		return nil
	}
	return h.s.agent.Client.AskServers(func(path string) string { return string(h.s.editor.Documents.URI(path)) })
}

// NoticesWaiting starts a turn with the results of background subagents, or asks the user whether
// to start it. A plugin starts and shows the turn itself.
func (h host) NoticesWaiting(x *service.Session, start bool) {
	if h.s.editor.Client.ACP != nil {
		h.s.agent.Client.SubagentsReady(x, start)
		return
	}
	children, err := service.Find[*delegate.Instance](x)
	if err != nil {
		return
	}
	ready := children.Ready()
	if start {
		h.s.work.start("starting a turn", func() { h.s.prompts.startResults(x.ID(), ready) })
		return
	}
	h.s.work.start("asking whether to go on", func() { h.s.prompts.offerResults(x.ID(), ready) })
}

// peer is the Agent Client Protocol's way to the editor on this connection.
type peer struct{ *editor.Editor }

func (p peer) Call(ctx context.Context, name string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	var answer jsonrpc2.RawMessage
	ask := p.Ask
	if name == acp.MethodRequestPermission || name == acp.MethodElicit {
		ask = p.Question
	}
	err = ask(ctx, name, jsonrpc2.RawMessage(body), &answer)
	var said *jsonrpc2.Error
	if errors.As(err, &said) {
		return acp.Errorf(int(said.Code), "%s", said.Message)
	}
	if err != nil {
		return err
	}
	if result == nil || len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("decoding the answer to %s: %w", name, err)
	}
	return nil
}
