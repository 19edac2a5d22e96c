package lsp

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extensions/foldertrust"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
)

// trust is hermes.trust. Without a session, there is nothing to trust.
func (c sessionCommands) trust(ctx context.Context, a protocol.TrustArgs) (any, error) {
	session, err := c.sessions.ofSession(a.SessionID)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return nil, invalidParams("%s: there is no session; start a chat first", protocol.CommandTrust)
	}
	x, err := service.Find[*foldertrust.Instance](session)
	if err != nil {
		return nil, err
	}
	text, err := x.Set(ctx, a.Folder, a.Trusted)
	if err != nil {
		return nil, err
	}
	return protocol.TrustResult{Trusted: a.Trusted, Text: text}, nil
}
