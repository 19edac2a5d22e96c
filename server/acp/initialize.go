package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// initializeParams is an InitializeRequest whose capabilities are read apart: what
// we do not understand of them counts as not offered.
type initializeParams struct {
	ProtocolVersion    *int            `json:"protocolVersion"`
	ClientInfo         json.RawMessage `json:"clientInfo"`
	ClientCapabilities json.RawMessage `json:"clientCapabilities"`
}

func (a *Agent) initialize(_ context.Context, p *initializeParams) (*acp.InitializeResponse, error) {
	if p.ProtocolVersion == nil {
		return nil, missing("protocolVersion")
	}
	var client acp.ClientCapabilities
	if err := decode(p.ClientCapabilities, &client); err != nil {
		a.o.Log.Warn("the client's capabilities are not all understood", "error", err)
	}
	a.SetClient(client)
	var info acp.Implementation
	if decode(p.ClientInfo, &info) == nil {
		a.SetEditor(strings.TrimSpace(cmp.Or(info.Title, info.Name) + " " + info.Version))
	}
	a.canLogin.Store(true)
	can := a.Capabilities()
	can.Auth = &acp.AuthCapabilities{Logout: &acp.Supported{}}
	return &acp.InitializeResponse{
		ProtocolVersion:   acp.Version,
		AgentCapabilities: can,
		AuthMethods:       a.authMethods(),
		AgentInfo:         &acp.Implementation{Name: "hermes-ls", Title: "Hermes", Version: a.version()},
	}, nil
}

func (a *Agent) version() string {
	if a.svc.Version == "" {
		return "unknown"
	}
	return a.svc.Version
}

// Capabilities is what the agent can do, and nothing else.
func (a *Agent) Capabilities() acp.AgentCapabilities {
	yes := &acp.Supported{}
	return acp.AgentCapabilities{
		LoadSession:        true,
		PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
		MCPCapabilities:    acp.MCPCapabilities{HTTP: true, SSE: true},
		SessionCapabilities: acp.SessionCapabilities{
			List: yes, Delete: yes, AdditionalDirectories: yes, Resume: yes, Close: yes,
		},
	}
}
