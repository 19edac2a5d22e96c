package lsp

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
)

// sessionFork opens a new session with the log of another up to a message; it
// becomes the current one.
func (s *server) sessionFork(ctx context.Context, a protocol.ForkArgs) (any, error) {
	id := orElse(a.SessionID, s.sessions.currentID())
	if id == "" {
		return nil, invalidParams("%s: there is no current session; name one with sessionId", protocol.CommandSessionFork)
	}
	s.settings.wait(ctx)
	session, err := s.service.Fork(ctx, id, a.MessageID, service.Place{Preset: preset}, host{s})
	var wrong *service.InputError
	if errors.As(err, &wrong) {
		return nil, invalidParams("%v", wrong)
	}
	if err != nil {
		return nil, sessionError(id, err)
	}
	s.moveSession(session, s.sessions.roots())
	s.sessions.keep(session)
	if s.updates(session.ID()) { // the editor shows the history
		if err := session.Replay(ctx); err != nil {
			return nil, fmt.Errorf("replaying session %s: %w", session.ID(), err)
		}
	}
	return protocol.SessionResult{SessionID: session.ID()}, nil
}
