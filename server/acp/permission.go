package acp

import (
	"context"
	"fmt"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// AskPermission asks the client's user. It returns no decision for a dialogue that was
// canceled and for an answer that was not offered.
func (c *Client) AskPermission(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	id, title := q.Call.ID, q.Title
	if q.Subagent != "" { // ids are unique in a session only
		id, title = q.Subagent+"/"+id, q.Title+" (subagent: "+escape.Line(q.For)+")"
	}
	request := acp.RequestPermissionRequest{
		SessionID: q.SessionID,
		ToolCall: acp.ToolCall{
			ToolCallID: id, Title: title, Name: q.Call.Name, Kind: acp.ToolKind(q.Kind),
			Status: acp.StatusPending, RawInput: input(q.Call.Args),
		},
		Options: permissionOptions(q.Remember),
	}
	if len(q.Choices) > 0 {
		request.Options = ownOptions(q.Choices)
	}
	if q.Reason != "" {
		request.ToolCall.Content = append(request.ToolCall.Content, acp.TextContent("This "+q.Reason+"."))
	}
	if q.Text != "" {
		request.ToolCall.Content = append(request.ToolCall.Content, acp.TextContent(q.Text))
	}
	var response acp.RequestPermissionResponse
	if err := c.peer.Call(ctx, acp.MethodRequestPermission, request, &response); err != nil {
		if q.Alone {
			c.answered(q.SessionID, id, tools.DecisionDeny)
		}
		return tools.DecisionDeny, fmt.Errorf("asking for permission: %w", err)
	}
	decision := decisionOf(response.Outcome, q)
	if q.Subagent != "" || q.Alone {
		if _, ok := q.Choice(string(decision)); ok {
			c.answered(q.SessionID, id, tools.DecisionOnce)
		} else {
			c.answered(q.SessionID, id, decision)
		}
		return decision, nil
	}
	if chosen, ok := q.Choice(string(decision)); decision.Allows() || ok && chosen.Allows {
		c.update(q.SessionID, &acp.ToolCall{
			SessionUpdate: acp.UpdateToolCallNews, ToolCallID: q.Call.ID, Status: acp.StatusInProgress,
		})
	}
	return decision, nil
}

// answered ends the tool call of an approval request that belongs to no tool call of this
// session, such as one of a subagent.
func (c *Client) answered(session, id string, d tools.Decision) {
	status := acp.StatusCompleted
	if !d.Allows() {
		status = acp.StatusFailed
	}
	c.update(session, &acp.ToolCall{SessionUpdate: acp.UpdateToolCallNews, ToolCallID: id, Status: status})
}

// permissionOptions returns the options in their order. Their names have exactly what is
// remembered. If nothing can be remembered, there are only Allow once and Deny.
func permissionOptions(remember string) []acp.PermissionOption {
	options := []acp.PermissionOption{{OptionID: string(tools.DecisionOnce), Name: "Allow once", Kind: acp.AllowOnce}}
	if remember != "" {
		options = append(options,
			acp.PermissionOption{OptionID: string(tools.DecisionSession), Name: "Allow for this session: " + remember, Kind: acp.AllowAlways},
			acp.PermissionOption{OptionID: string(tools.DecisionAlways), Name: "Always allow: " + remember, Kind: acp.AllowAlways})
	}
	return append(options, acp.PermissionOption{OptionID: string(tools.DecisionDeny), Name: "Deny", Kind: acp.RejectOnce})
}

// ownOptions returns the options of a request that has its own.
func ownOptions(choices []tools.Choice) []acp.PermissionOption {
	var options []acp.PermissionOption
	for _, c := range choices {
		option := acp.PermissionOption{OptionID: string(c.ID), Name: c.Label, Kind: acp.RejectOnce}
		switch {
		case c.Allows && c.Lasting:
			option.Kind = acp.AllowAlways
		case c.Allows:
			option.Kind = acp.AllowOnce
		}
		options = append(options, option)
	}
	return options
}

func decisionOf(o acp.PermissionOutcome, q tools.ApprovalRequest) tools.Decision {
	if o.Outcome != acp.OutcomeSelected {
		return ""
	}
	if len(q.Choices) > 0 {
		c, _ := q.Choice(o.OptionID)
		return c.ID
	}
	switch d := tools.Decision(o.OptionID); d {
	case tools.DecisionOnce, tools.DecisionSession, tools.DecisionAlways, tools.DecisionDeny:
		return d
	}
	return ""
}
