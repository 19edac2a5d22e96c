package acp

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// AskPermission asks the client's user. If the dialogue was canceled or the answer was not offered,
// it returns no decision.
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
		Options: permissionOptions(q.Options()),
	}
	request.ToolCall.Content, request.ToolCall.Locations = editContents(q.Edits)
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
	decision, reason := decisionOf(response.Outcome, q)
	if q.Subagent != "" || q.Alone {
		if _, ok := q.Choice(string(decision)); ok {
			c.answered(q.SessionID, id, tools.DecisionOnce)
		} else {
			c.answered(q.SessionID, id, decision)
		}
		return decision, reason
	}
	if chosen, ok := q.Choice(string(decision)); decision.Allows() || ok && chosen.Allows {
		c.update(q.SessionID, &acp.ToolCall{
			SessionUpdate: acp.UpdateToolCallNews, ToolCallID: q.Call.ID, Status: acp.StatusInProgress,
		})
	}
	return decision, reason
}

// answered ends the tool call of an approval request without its own tool call in this session,
// such as a subagent's.
func (c *Client) answered(session, id string, d tools.Decision) {
	status := acp.StatusCompleted
	if !d.Allows() {
		status = acp.StatusFailed
	}
	c.update(session, &acp.ToolCall{SessionUpdate: acp.UpdateToolCallNews, ToolCallID: id, Status: status})
}

// permissionOptions returns the options of a request in their order.
func permissionOptions(choices []tools.Choice) []acp.PermissionOption {
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

// editContents returns the files of an edit: a diff for each, the notes on them, and where
// they change.
func editContents(edits []tools.FileEdit) (content []acp.ToolCallContent, places []acp.ToolCallLocation) {
	for _, e := range edits {
		if e.Note != "" {
			content = append(content, acp.TextContent(e.Name+": "+e.Note+"."))
		}
		content = append(content, acp.DiffContent(escape.Text(e.Path), e.Old, e.New))
		places = append(places, locations([]tools.Location{{Path: e.Path, Line: max(e.Changed, 1)}})...)
	}
	return content, places
}

// decisionOf returns the chosen option. If the option was not offered, it is no decision. The error
// of a denial contains the user's reason.
func decisionOf(o acp.PermissionOutcome, q tools.ApprovalRequest) (tools.Decision, error) {
	if o.Outcome != acp.OutcomeSelected {
		return "", nil
	}
	for _, c := range q.Options() {
		if string(c.ID) != o.OptionID {
			continue
		}
		if reason := reasonOf(o.Meta); c.ID == tools.DecisionDeny && reason != "" {
			return c.ID, &tools.Denied{Reason: reason}
		}
		return c.ID, nil
	}
	return "", nil
}

// reasonOf returns _meta.hermes.reason of an outcome: why the user denies the request.
func reasonOf(m acp.Meta) string {
	ours, _ := m["hermes"].(map[string]any)
	reason, _ := ours["reason"].(string)
	return strings.TrimSpace(reason)
}
