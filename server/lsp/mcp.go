package lsp

import (
	"context"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/mcpservers"
)

// extensions is hermes.extensions. Without a session, there are no servers.
func (c sessionCommands) extensions(_ context.Context, a protocol.SessionArgs) (any, error) {
	session, err := c.sessions.ofSession(a.SessionID)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return &protocol.ExtensionsResult{MCP: []protocol.MCPServerState{}}, nil
	}
	return mcpservers.List(session)
}

// mcp is a command hermes.mcp. Without a session, there are no servers.
func (c sessionCommands) mcp(act mcpservers.Act) func(context.Context, protocol.MCPArgs) (any, error) {
	return func(ctx context.Context, a protocol.MCPArgs) (any, error) {
		session, err := c.sessions.ofSession(a.SessionID)
		if err != nil {
			return nil, err
		}
		if session == nil {
			return nil, invalidParams("there is no session with MCP servers; start a chat first")
		}
		return act(ctx, session, a)
	}
}
