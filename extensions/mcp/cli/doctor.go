package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/internal/amount"
)

// Doctor connects the configured MCP servers. A problem of a server is only a note.
func (o Options) Doctor(ctx context.Context, loaded *config.Loaded) (found []cli.Finding) {
	add := func(state cli.State, text string) {
		found = append(found, cli.Finding{State: state, What: "mcp", Text: text})
	}
	configured, problems := mcp.Configured(loaded)
	brought, wrong := o.Plugins(loaded, nil)
	configured, problems = append(configured, brought...), append(problems, wrong...)
	for _, p := range problems {
		add(cli.Note, p.Error())
	}
	if len(configured) == 0 {
		return found
	}
	all, _, end, err := o.connect(ctx, loaded, configured, nil)
	if err != nil {
		add(cli.Note, err.Error())
		return found
	}
	defer end()
	for _, s := range all.Status() {
		switch s.State {
		case mcp.Connected:
			text := fmt.Sprintf("%s: %s (%s)", s.Name, amount.Plural(len(s.Tools), "tool"), s.From)
			if len(s.LeftOut) > 0 {
				text += "; left out, because they run only as tasks: " + strings.Join(s.LeftOut, ", ")
			}
			add(cli.OK, text)
		case mcp.NeedsLogin:
			add(cli.Note, fmt.Sprintf("%s: needs login: %s (%s)", s.Name, s.Error, s.From))
		case mcp.NeedsApproval:
			add(cli.Note, fmt.Sprintf("%s: %s. The first prompt of a session asks whether it may start (%s)", s.Name, s.Error, s.From))
		case mcp.Connecting:
			add(cli.Note, fmt.Sprintf("%s: does not answer in time; a longer connect_timeout may help (%s)", s.Name, s.From))
		default:
			add(cli.Note, fmt.Sprintf("%s: not connected: %s", s.Name, s.Error))
		}
	}
	return found
}
