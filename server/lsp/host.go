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

// SettingsChanged shows an editor with a plugin the settings of a session.
func (h host) SettingsChanged(x *service.Session) {
	if h.s.client.acp != nil {
		h.s.agent.SettingsChanged(x)
	}
}

// ShowProblem tells at once of what is wrong in the configuration: its user may be
// editing it here.
func (h host) ShowProblem(text string) { h.s.show(lsp.MessageTypeWarning, "Hermes: %s", text) }

// Terminals are not lent: LSP has none.
func (h host) Terminals(string) tools.Terminals { return nil }

// Sink sends session/update to an editor with a plugin. For others, what there is
// to see goes through the turn's own sink.
func (h host) Sink(sessionID string) agent.Sink {
	if h.s.client.acp == nil {
		return h.s.newWorkBars(nil)
	}
	return h.s.newWorkBars(h.s.agent.Sink(sessionID))
}

// setAgentClient passes on what the editor's plugin can do. Files and terminals are
// LSP's business on this connection.
func (s *server) setAgentClient() {
	var said struct {
		Capabilities json.RawMessage `json:"clientCapabilities"`
	}
	_ = json.Unmarshal(s.client.acp, &said) // what is no object has no capabilities
	s.agent.SetClient(agentface.ReadClient(said.Capabilities))
}

// agentMethod carries a method of the Agent Client Protocol, which takes its place
// among the commands.
func (s *server) agentMethod(name string) method {
	return func(ctx context.Context, borrowed jsonrpc2.RawMessage, free func()) (any, error) {
		params := json.RawMessage(slices.Clone(borrowed))
		place := s.line.enter()
		defer place.next()
		free()
		if err := place.wait(ctx); err != nil {
			return nil, err
		}
		result, err := s.agent.Handle(ctx, name, params, place.next)
		if err != nil {
			return nil, err
		}
		s.noteSession(name, params, result)
		if agentface.Opens(name) {
			s.goOn("telling of a session", func() { s.answered(name, params, result) })
		}
		return raw(result)
	}
}

// answerLeaves is how long the library takes, at the most, to write an answer once it
// has it.
const answerLeaves = 20 * time.Millisecond

// answered lets the agent go on once the answer to a request has left.
func (s *server) answered(name string, params json.RawMessage, result any) {
	select {
	case <-time.After(answerLeaves):
		s.agent.Answered(name, params, result)
	case <-s.ctx.Done():
	}
}

// noteSession makes a session that a plugin has opened the current one.
func (s *server) noteSession(name string, params json.RawMessage, result any) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	switch name {
	case acp.MethodSessionNew, acp.MethodSessionFork:
		if opened, ok := result.(*acp.NewSessionResponse); ok {
			p.SessionID = opened.SessionID
		}
	case acp.MethodSessionLoad, acp.MethodSessionResume:
		_ = json.Unmarshal(params, &p) // the agent has read it already
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
