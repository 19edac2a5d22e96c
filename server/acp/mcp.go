package acp

import (
	"context"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/mcpservers"
)

// extensions lists the MCP servers of a session.
func extensions(a *Agent) func(context.Context, *protocol.SessionArgs, func()) (*protocol.ExtensionsResult, error) {
	return func(_ context.Context, p *protocol.SessionArgs, _ func()) (*protocol.ExtensionsResult, error) {
		x, err := a.session(p.SessionID)
		if err != nil {
			return nil, err
		}
		return mcpservers.List(x)
	}
}

// mcpMethod does something with an MCP server of a session. Later messages do not wait for it.
func mcpMethod(a *Agent, act mcpservers.Act) func(context.Context, *protocol.MCPArgs, func()) (*protocol.MCPResult, error) {
	return func(ctx context.Context, p *protocol.MCPArgs, next func()) (*protocol.MCPResult, error) {
		x, err := a.session(p.SessionID)
		if err != nil {
			return nil, err
		}
		next()
		return act(ctx, x, *p)
	}
}
