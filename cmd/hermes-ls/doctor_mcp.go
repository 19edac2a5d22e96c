package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/cmd/mcpcmd"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// mcpFindings connects the configured MCP servers. A problem of a server is only a note.
func mcpFindings(ctx context.Context, loaded *config.Loaded) (found []finding) {
	configured, problems := mcp.Configured(loaded)
	brought, wrong := app.PluginServers(loaded, nil)
	configured, problems = append(configured, brought...), append(problems, wrong...)
	for _, p := range problems {
		found = append(found, finding{"note", "mcp", p.Error()})
	}
	if len(configured) == 0 {
		return found
	}
	all, _, end, err := mcpcmd.Connect(ctx, loaded, version(), configured, nil)
	if err != nil {
		return append(found, finding{"note", "mcp", err.Error()})
	}
	defer end()
	for _, s := range all.Status() {
		switch s.State {
		case mcp.Connected:
			text := fmt.Sprintf("%s: %s (%s)", s.Name, amount.Plural(len(s.Tools), "tool"), s.From)
			if len(s.LeftOut) > 0 {
				text += "; left out, because they run only as tasks: " + strings.Join(s.LeftOut, ", ")
			}
			found = append(found, finding{"ok", "mcp", text})
		case mcp.NeedsLogin:
			found = append(found, finding{"note", "mcp", fmt.Sprintf("%s: needs login: %s (%s)", s.Name, s.Error, s.From)})
		case mcp.NeedsApproval:
			found = append(found, finding{"note", "mcp", fmt.Sprintf("%s: %s. The first prompt of a session asks whether it may start (%s)", s.Name, s.Error, s.From)})
		case mcp.Connecting:
			found = append(found, finding{"note", "mcp", fmt.Sprintf("%s: does not answer in time; a longer connect_timeout may help (%s)", s.Name, s.From)})
		default:
			found = append(found, finding{"note", "mcp", fmt.Sprintf("%s: not connected: %s", s.Name, s.Error)})
		}
	}
	return found
}
