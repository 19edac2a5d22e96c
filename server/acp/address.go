package acp

import (
	"context"
	"crypto/rand"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// OpenAddress lets the client open the page of a login. If it cannot, or the user declines, the
// result is false.
func (c *Client) OpenAddress(ctx context.Context, sessionID, server, address string) bool {
	e := c.can.Load().Elicitation
	if e == nil || e.URL == nil {
		return false
	}
	request := acp.ElicitRequest{
		SessionID: sessionID, Message: "Log in at the MCP server " + server + " in your browser.",
		Mode: "url", URL: address, ElicitationID: rand.Text(),
	}
	var response acp.ElicitResponse
	err := c.peer.Call(ctx, acp.MethodElicit, request, &response)
	return err == nil && response.Action == "accept"
}
