package acp

import (
	"cmp"
	"context"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/listing"
	"github.com/hermes-ls/hermes-ls/server/mcpservers"
)

// extensions lists the extensions of a session.
func extensions(a *Agent) func(context.Context, *protocol.SessionArgs, func()) (*protocol.ExtensionsResult, error) {
	return func(ctx context.Context, p *protocol.SessionArgs, _ func()) (*protocol.ExtensionsResult, error) {
		x, err := a.session(p.SessionID)
		if err != nil {
			return nil, err
		}
		return listing.List(ctx, x)
	}
}

// open returns the address of the file that a command opens. The client shows it.
func open(a *Agent, command string) func(context.Context, *protocol.OpenArgs, func()) (*protocol.OpenResult, error) {
	return func(ctx context.Context, p *protocol.OpenArgs, _ func()) (*protocol.OpenResult, error) {
		x, err := a.session(p.SessionID)
		if err != nil {
			return nil, err
		}
		path, err := listing.Document(ctx, x, command, cmp.Or(p.Name, p.Target))
		if err != nil {
			return nil, err
		}
		return &protocol.OpenResult{URI: string(uri.File(path))}, nil
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
