// Package mcpservers is shared by both protocols: it logs in at MCP servers of a session, restarts
// and approves them.
package mcpservers

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server"
)

// Act does something with an MCP server of a session.
type Act func(context.Context, *server.Session, protocol.MCPArgs) (*protocol.MCPResult, error)

// Login starts a login, or takes the address at which its browser ended.
func Login(ctx context.Context, s *server.Session, a protocol.MCPArgs) (*protocol.MCPResult, error) {
	return with(s, func(x *mcp.Instance) (string, error) { return x.Login(ctx, a.Server, a.Address) })
}

// Logout deletes the tokens of a server.
func Logout(ctx context.Context, s *server.Session, a protocol.MCPArgs) (*protocol.MCPResult, error) {
	return with(s, func(x *mcp.Instance) (string, error) { return x.Logout(ctx, a.Server) })
}

// Restart starts a server again.
func Restart(_ context.Context, s *server.Session, a protocol.MCPArgs) (*protocol.MCPResult, error) {
	return with(s, func(x *mcp.Instance) (string, error) {
		return "The MCP server " + a.Server + " starts again.", x.Restart(a.Server)
	})
}

// Approve approves a server of the workspace.
func Approve(ctx context.Context, s *server.Session, a protocol.MCPArgs) (*protocol.MCPResult, error) {
	return with(s, func(x *mcp.Instance) (string, error) { return x.ApproveServer(ctx, a.Server) })
}

// Revoke removes the approval of a server of the workspace.
func Revoke(ctx context.Context, s *server.Session, a protocol.MCPArgs) (*protocol.MCPResult, error) {
	return with(s, func(x *mcp.Instance) (string, error) { return x.RevokeServer(ctx, a.Server) })
}

func with(s *server.Session, act func(*mcp.Instance) (string, error)) (*protocol.MCPResult, error) {
	x, err := server.Find[*mcp.Instance](s)
	if err != nil {
		return nil, err
	}
	text, err := act(x)
	if err != nil {
		return nil, err
	}
	return &protocol.MCPResult{Text: text}, nil
}
