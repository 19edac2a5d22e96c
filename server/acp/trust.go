package acp

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extensions/foldertrust"
	"github.com/hermes-ls/hermes-ls/protocol"
)

// trust trusts a folder for the user, or removes trust.
func (a *Agent) trust(ctx context.Context, p *protocol.TrustArgs, _ func()) (*protocol.TrustResult, error) {
	x, err := find[*foldertrust.Instance](a, p.SessionID)
	if err != nil {
		return nil, err
	}
	text, err := x.Set(ctx, p.Folder, p.Trusted)
	if err != nil {
		return nil, err
	}
	return &protocol.TrustResult{Trusted: p.Trusted, Text: text}, nil
}
