package lsp

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	service "github.com/hermes-ls/hermes-ls/server"
	agentface "github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// preset is the toolset of sessions on this face.
const preset = "lsp"

// host lends the editor to its sessions: its documents, and its user.
type host struct{ s *server }

func (h host) Documents(string) workspace.Documents { return h.s.documents }

// SettingsChanged shows the settings of a session in an editor that gets updates.
func (h host) SettingsChanged(x *service.Session) {
	if h.s.updates(x.ID()) {
		h.s.agent.SettingsChanged(x)
	}
}

// ShowProblem shows a problem of the configuration at once: the user may be editing it in this
// editor.
func (h host) ShowProblem(text string) { h.s.show(lsp.MessageTypeWarning, "Hermes: %s", text) }

// Terminals are not lent: LSP has none.
func (h host) Terminals(string) tools.Terminals { return nil }

// Sink sends session/update to an editor that gets updates. For others, the sink of the turn
// shows the events.
func (h host) Sink(sessionID string) agent.Sink {
	if !h.s.updates(sessionID) {
		return h.s.newProgressSink(nil)
	}
	return h.s.newProgressSink(h.s.agent.Sink(sessionID))
}

// setAgentClient passes on the capabilities of the editor's plugin. On this connection, LSP
// provides files and terminals.
func (s *server) setAgentClient() {
	var said struct {
		Capabilities json.RawMessage `json:"clientCapabilities"`
	}
	_ = json.Unmarshal(s.client.acp, &said) // other values than an object have no capabilities
	s.agent.SetClient(agentface.ReadClient(said.Capabilities))
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
		s.noteSession(name, params, result)
		encoded, err := raw(result)
		if err != nil || !agentface.Opens(name) {
			return encoded, err
		}
		return followed{encoded, func() { s.agent.Answered(name, params, result) }}, nil
	}
}

// turnOf is the turn, or the replay, that a method begins; nil: it begins none.
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

// noteSession makes a session that the editor has opened the current one.
func (s *server) noteSession(name string, params json.RawMessage, result any) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	switch name {
	case acp.MethodSessionNew, acp.MethodSessionFork:
		if opened, ok := result.(*acp.NewSessionResponse); ok {
			p.SessionID = opened.SessionID
			s.sessions.wantsUpdates(p.SessionID)
		}
	case acp.MethodSessionLoad, acp.MethodSessionResume:
		_ = json.Unmarshal(params, &p) // the agent has read it already
		s.sessions.wantsUpdates(p.SessionID)
	case acp.MethodSessionDelete, acp.MethodSessionClose:
		if json.Unmarshal(params, &p) == nil {
			s.sessions.forget(p.SessionID)
		}
		return
	}
	if session, err := s.service.Session(p.SessionID); err == nil {
		s.sessions.keep(session)
	}
}

// CanDiagnose reports whether there is a plugin that answers: a language server does not
// receive the diagnostics of others.
func (h host) CanDiagnose() bool { return h.s.client.acp != nil && h.s.agent.CanDiagnose() }

// Diagnose asks the plugin for the diagnostics of a file.
func (h host) Diagnose(ctx context.Context, path string, wait time.Duration) ([]tools.Diagnostic, error) {
	return h.s.agent.DiagnoseURI(ctx, string(h.s.documents.uri(path)), wait)
}
