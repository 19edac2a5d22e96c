package lsp

import (
	"context"

	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/protocol"
	service "github.com/hermes-ls/hermes-ls/server"
)

// subagentCommands has hermes.subagent.*.
type subagentCommands struct{ sessions *sessions }

func (c subagentCommands) list(ctx context.Context, a protocol.SubagentArgs) (any, error) {
	result := protocol.SubagentListResult{Subagents: []protocol.SubagentInfo{}}
	session, err := c.sessions.ofSession(a.SessionID)
	if err != nil || session == nil {
		return result, err
	}
	children, err := service.Find[*delegate.Instance](session)
	if err != nil {
		return nil, err
	}
	list, err := children.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, child := range list {
		result.Subagents = append(result.Subagents, protocol.SubagentInfo{
			SubagentID: child.SessionID, ParentID: child.ParentID, Goal: child.Goal, Status: child.Status, Doing: child.Doing,
			Calls: child.Calls, Tokens: child.Tokens, Seconds: child.Seconds, Background: child.Background,
		})
	}
	return result, nil
}

func (c subagentCommands) message(ctx context.Context, a protocol.SubagentArgs) (any, error) {
	session, err := c.owner(protocol.CommandSubagentMessage, a)
	if err != nil {
		return nil, err
	}
	children, err := service.Find[*delegate.Instance](session)
	if err == nil {
		err = session.Begin(ctx)
	}
	if err == nil {
		err = children.Send(ctx, a.SubagentID, a.Message)
	}
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	return protocol.SubagentResult{SubagentID: a.SubagentID, Status: "running"}, nil
}

func (c subagentCommands) stop(_ context.Context, a protocol.SubagentArgs) (any, error) {
	session, err := c.owner(protocol.CommandSubagentStop, a)
	if err != nil {
		return nil, err
	}
	children, err := service.Find[*delegate.Instance](session)
	if err != nil {
		return nil, err
	}
	stopped, err := children.Cancel(a.SubagentID)
	if err != nil {
		return nil, invalidParams("%v", err)
	}
	return protocol.SubagentResult{SubagentID: a.SubagentID, Stopped: &stopped}, nil
}

// owner is the session whose subagent a command names.
func (c subagentCommands) owner(command string, a protocol.SubagentArgs) (*service.Session, error) {
	if a.SubagentID == "" {
		return nil, invalidParams("%s: subagentId is missing; %s names the subagents", command, protocol.CommandSubagentList)
	}
	session, err := c.sessions.ofSession(a.SessionID)
	if err == nil && session == nil {
		err = invalidParams("%s: there is no current session; name one with sessionId", command)
	}
	return session, err
}
