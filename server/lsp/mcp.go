package lsp

import (
	"context"

	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server/listing"
	"github.com/hermes-ls/hermes-ls/server/mcpservers"
)

// extensions is hermes.extensions. Without a session, there are none.
func (c sessionCommands) extensions(ctx context.Context, a protocol.SessionArgs) (any, error) {
	session, err := c.sessions.ofSession(a.SessionID)
	if err != nil {
		return nil, err
	}
	if session == nil {
		return listing.Empty(), nil
	}
	return listing.List(ctx, session)
}

// open returns a command for opening a file, such as hermes.skill.open. It shows the file to the
// user.
func (c sessionCommands) open(command string) func(context.Context, protocol.OpenArgs) (any, error) {
	return func(ctx context.Context, a protocol.OpenArgs) (any, error) {
		session, err := c.sessions.ofSession(a.SessionID)
		if err != nil {
			return nil, err
		}
		if session == nil {
			return nil, invalidParams("there is no session; start a chat first")
		}
		path, err := listing.Document(ctx, session, command, orElse(a.Name, a.Target))
		if err != nil {
			return nil, err
		}
		u := c.sessions.editor.Documents.URI(path)
		c.sessions.editor.ShowDocument(path, c.quotes.placeName(u), nil)
		return protocol.OpenResult{URI: string(u)}, nil
	}
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
