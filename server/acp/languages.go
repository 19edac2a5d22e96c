package acp

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// LanguageServers returns a function for asking the language servers of the client's editor. If the
// client has not announced this, it returns nil.
func (c *Client) LanguageServers() extension.ServerQuery {
	return c.AskServers(func(path string) string { return string(uri.File(path)) })
}

// AskServers is LanguageServers with address, which names files the client's way.
func (c *Client) AskServers(address func(path string) string) extension.ServerQuery {
	ours, _ := c.can.Load().Meta["hermes"].(map[string]any)
	if can, _ := ours["lsp"].(bool); !can {
		return nil
	}
	return func(ctx context.Context, method, path string, params map[string]any) ([]extension.ServerAnswer, error) {
		all := map[string]any{}
		maps.Copy(all, params)
		if path != "" {
			all["textDocument"] = protocol.TextDocument{URI: address(path)}
		}
		return c.askServers(ctx, acp.LSPRequest{Method: method, Params: all})
	}
}

// requestFailed is LSP's error code for a server's error, forwarded by a plugin. With other errors,
// no server answers.
const requestFailed = -32803

func (c *Client) askServers(ctx context.Context, request acp.LSPRequest) ([]extension.ServerAnswer, error) {
	var r acp.LSPResponse
	err := c.peer.Call(ctx, acp.MethodLSP, request, &r)
	if answered := (*acp.Error)(nil); errors.As(err, &answered) && answered.Code == requestFailed {
		return nil, &extension.RejectedRequest{Reason: answered.Message}
	}
	if err != nil {
		return nil, fmt.Errorf("asking the language servers of the editor: %w", err)
	}
	answers := make([]extension.ServerAnswer, len(r.Results))
	for i, one := range r.Results {
		answers[i] = extension.ServerAnswer(one)
	}
	return answers, nil
}
