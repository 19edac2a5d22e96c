package acp

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools"
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

// offerAddress asks the user whether to open an address. A client with support for addresses asks
// and opens it. Other clients get a permission request; then the answer has no text, because
// nothing was opened.
func (c *Client) offerAddress(ctx context.Context, q tools.ClarifyRequest) (tools.Answer, error) {
	if e := c.can.Load().Elicitation; e != nil && e.URL != nil {
		request := acp.ElicitRequest{SessionID: q.SessionID, Message: q.Question, Mode: "url", URL: q.Address, ElicitationID: q.AddressID}
		var response acp.ElicitResponse
		if err := c.peer.Call(ctx, acp.MethodElicit, request, &response); err != nil {
			return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
		}
		return tools.Answer{Kind: kindOf(response.Action), Text: q.Address}, nil
	}
	request := acp.RequestPermissionRequest{
		SessionID: q.SessionID,
		ToolCall:  acp.ToolCall{ToolCallID: q.CallID, Title: q.Question, Kind: acp.ToolKind(tools.KindFetch), Status: acp.StatusPending},
		Options: []acp.PermissionOption{
			{OptionID: string(tools.DecisionOnce), Name: "Show the address in the chat", Kind: acp.AllowOnce},
			{OptionID: string(tools.DecisionDeny), Name: "Do not open", Kind: acp.RejectOnce},
		},
	}
	var response acp.RequestPermissionResponse
	if err := c.peer.Call(ctx, acp.MethodRequestPermission, request, &response); err != nil {
		return tools.Answer{}, fmt.Errorf("asking the user: %w", err)
	}
	switch {
	case response.Outcome.Outcome != acp.OutcomeSelected:
		return tools.Answer{}, nil
	case response.Outcome.OptionID == string(tools.DecisionOnce):
		return tools.Answer{Kind: tools.AnswerGiven}, nil
	}
	return tools.Answer{Kind: tools.AnswerDeclined}, nil
}
