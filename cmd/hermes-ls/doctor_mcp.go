package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// mcpFindings connects the configured MCP servers. A problem of a server is only a note.
func mcpFindings(ctx context.Context, loaded *config.Loaded) (found []finding) {
	configured, problems := mcp.Configured(loaded)
	for _, p := range problems {
		found = append(found, finding{"note", "mcp", p.Error()})
	}
	if len(configured) == 0 {
		return found
	}
	dir, err := os.Getwd()
	if err != nil {
		return append(found, finding{"note", "mcp", err.Error()})
	}
	box := sandbox.New(sandbox.Config{
		Mode: sandbox.Mode(loaded.Sandbox.Mode), Network: loaded.Sandbox.Network,
		Caches: loaded.Sandbox.Caches, Read: loaded.Sandbox.Read,
		Roots: func() []string { return []string{dir} }, HermesHome: loaded.Home,
	})
	defer box.Close()
	all := mcp.New(ctx, mcp.Config{
		Version: version(), Dir: mcp.Dir(loaded.Home), Roots: []string{dir}, Environ: os.Environ(),
		Logins: app.Logins(loaded),
		Confine: func(ctx context.Context, c *proc.Cmd, files map[string][]byte) error {
			return box.With(sandbox.Opening{Frozen: files}).Confine(ctx, c)
		},
	})
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = all.Close(ending) // servers that are still running end with this process
	}()
	all.Connect(configured)
	all.Wait(ctx)
	for _, s := range all.Status() {
		switch s.State {
		case mcp.Connected:
			text := fmt.Sprintf("%s: %d tools (%s)", s.Name, len(s.Tools), s.From)
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
