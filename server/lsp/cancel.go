package lsp

import (
	"context"
	"encoding/json"
	"errors"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// cancelTurns cancels the turns of a session, including queued turns of earlier messages. It does
// not wait for anything. An empty id is the current session. If there is nothing to cancel, it
// returns false.
func (s *server) cancelTurns(id string) bool {
	current := s.sessions.currentID()
	named := orElse(id, current)
	found := s.queue.cancel(func(t pendingTurn) bool {
		return t.session == named || t.session == "" && (id == "" || id == current)
	})
	if x := s.service.Opened(named); x != nil {
		found = x.Cancel() || found
	}
	return found
}

// cancelCommand is hermes.cancel. The reader handles it, before later messages and without waiting
// for earlier messages.
func (s *server) cancelCommand(p *lsp.ExecuteCommandParams, free func()) (any, error) {
	var args protocol.SessionArgs
	if err := decode(p, &args); err != nil {
		return nil, err
	}
	cancelled := s.cancelTurns(args.SessionID)
	if id := args.SessionID; !cancelled && id != "" && s.service.Opened(id) == nil {
		free() // the store is asked
		if _, err := s.service.Session(id); err != nil {
			return nil, sessionError(id, err)
		}
	}
	return raw(protocol.CancelResult{Cancelled: cancelled})
}

// cancelSession is session/cancel.
func (s *server) cancelSession(_ context.Context, params jsonrpc2.RawMessage, _ func()) (any, error) {
	var p acp.CancelNotification
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	if p.SessionID == "" {
		return nil, errors.New("sessionId is missing")
	}
	s.cancelTurns(p.SessionID)
	return nil, nil
}

// cancelProgress cancels exactly the token's work.
func (s *server) cancelProgress(_ context.Context, p *lsp.WorkDoneProgressCancelParams) error {
	s.editor.Reopen()
	s.queue.cancel(func(t pendingTurn) bool { return t.token != nil && t.token == p.Token })
	s.progress.cancel(p.Token)
	return nil
}
