package acp

import (
	"cmp"
	"context"
	"fmt"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent"
	offers "github.com/hermes-ls/hermes-ls/extensions/feedback"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
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

// open returns the address of a command's file. The client shows it.
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

// feedback answers an offer as the slash command does.
func feedback(a *Agent) func(context.Context, *protocol.FeedbackArgs, func()) (*acp.PromptResponse, error) {
	return func(ctx context.Context, p *protocol.FeedbackArgs, next func()) (*acp.PromptResponse, error) {
		x, err := a.session(p.SessionID)
		if err != nil {
			return nil, err
		}
		text, err := Feedback(p.Choice)
		if err != nil {
			return nil, acp.Errorf(acp.CodeInvalidParams, "%v", err)
		}
		in := agent.Input{Text: text}
		return a.run(ctx, x, in, next, func(also agent.Sink) *server.Turn { return x.Start(in, also) })
	}
}

// Feedback returns the slash command of a choice.
func Feedback(choice int) (string, error) {
	if choice < 1 || choice > len(offers.Labels) {
		return "", fmt.Errorf("choice is %d; it is a number from 1 to %d", choice, len(offers.Labels))
	}
	return fmt.Sprintf("/feedback %d", choice), nil
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
