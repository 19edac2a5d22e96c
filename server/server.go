// Package server is the agent as a service: sessions, approvals, and the events of
// turns, for whichever face an editor speaks. Its two faces are server/lsp and
// server/acp; wire types stop there.
package server

import (
	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Host is what a connection lends to the sessions that it opens.
type Host interface {
	// Documents are the editor's open documents; nil: it shows none.
	Documents(sessionID string) workspace.Documents
	// Terminals are the editor's own; nil: it has none.
	Terminals(sessionID string) tools.Terminals
	// Sink takes the events of a session's turns and replays.
	Sink(sessionID string) agent.Sink
	tools.Asker
}
