// Package listing is the part of both protocols that lists the extensions of a session, such as skills and MCP servers, and opens their files.
package listing

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/protocol"
	"github.com/hermes-ls/hermes-ls/server"
)

// Empty returns the result without a session.
func Empty() *protocol.ExtensionsResult {
	return &protocol.ExtensionsResult{
		MCP: []protocol.MCPServerState{}, Skills: []protocol.SkillState{}, Plugins: []protocol.PluginState{}, Hooks: []protocol.HookState{},
		Commands: []protocol.NamedFile{}, Agents: []protocol.NamedFile{}, Memory: []protocol.MemoryState{}, Learnings: []protocol.LearningState{},
		Offered: []protocol.Offer{},
	}
}

// List returns the lists of the extensions of a session.
func List(ctx context.Context, s *server.Session) (*protocol.ExtensionsResult, error) {
	all, err := s.Extensions().Entries(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("listing the extensions: %w", err)
	}
	r := Empty()
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("listing the extensions: %w", err)
	}
	return r, nil
}

// Document returns the file that a command opens, such as hermes.skill.open with the name of a skill.
func Document(ctx context.Context, s *server.Session, command, name string) (path string, err error) {
	if path, ok, err := s.Extensions().Document(ctx, command, name); ok || err != nil {
		return path, err
	}
	return "", extension.BadInput("command", "%s opens nothing in this session", command)
}
