package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// initializeParams is an InitializeRequest whose capabilities are decoded by [ReadClient].
type initializeParams struct {
	ProtocolVersion    *int            `json:"protocolVersion"`
	ClientInfo         json.RawMessage `json:"clientInfo"`
	ClientCapabilities json.RawMessage `json:"clientCapabilities"`
}

func (a *Agent) initialize(_ context.Context, p *initializeParams) (*acp.InitializeResponse, error) {
	if p.ProtocolVersion == nil {
		return nil, missing("protocolVersion")
	}
	a.Client.SetCapabilities(ReadClient(p.ClientCapabilities))
	var info acp.Implementation
	if decode(p.ClientInfo, &info) == nil {
		a.Client.SetName(strings.TrimSpace(cmp.Or(info.Title, info.Name) + " " + info.Version))
	}
	a.canLogin.Store(true)
	can := Capabilities()
	can.Auth = &acp.AuthCapabilities{Logout: &acp.Supported{}}
	return &acp.InitializeResponse{
		ProtocolVersion:   acp.Version,
		AgentCapabilities: can,
		AuthMethods:       a.authMethods(),
		AgentInfo:         &acp.Implementation{Name: "hermes-ls", Title: "Hermes", Version: cmp.Or(a.svc.Version, "unknown")},
	}, nil
}

// ReadClient decodes the capabilities of a client. It ignores parts of a wrong type. An
// empty array stands for an empty object, as clients in Lua and PHP write it.
func ReadClient(capabilities json.RawMessage) acp.ClientCapabilities {
	var said any
	if len(capabilities) == 0 || json.Unmarshal(capabilities, &said) != nil {
		return acp.ClientCapabilities{}
	}
	said = withObjects(said)
	for {
		var c acp.ClientCapabilities
		body, err := json.Marshal(said)
		if err == nil {
			err = json.Unmarshal(body, &c)
		}
		var wrong *json.UnmarshalTypeError
		switch {
		case err == nil:
			return c
		case !errors.As(err, &wrong), !leaveOut(said, strings.Split(wrong.Field, ".")):
			return acp.ClientCapabilities{}
		}
	}
}

// withObjects replaces each empty array in value by an empty object.
func withObjects(value any) any {
	switch v := value.(type) {
	case []any:
		if len(v) == 0 {
			return map[string]any{}
		}
	case map[string]any:
		for key := range v {
			v[key] = withObjects(v[key])
		}
	}
	return value
}

// leaveOut deletes the members at path. If there are none, it returns false.
func leaveOut(value any, path []string) (found bool) {
	object, _ := value.(map[string]any)
	for key := range object {
		if !strings.EqualFold(key, path[0]) {
			continue
		}
		if len(path) > 1 {
			found = leaveOut(object[key], path[1:]) || found
			continue
		}
		delete(object, key)
		found = true
	}
	return found
}

// Capabilities returns the capabilities of every agent.
func Capabilities() acp.AgentCapabilities {
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
