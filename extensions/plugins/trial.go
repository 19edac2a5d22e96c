package plugins

import (
	"context"
	"encoding/json"
)

// Trial is a plugin run outside of a session, for its author.
type Trial struct {
	runner *runner
	offer  Offer
	folder string
}

// Try starts a plugin with its permissions in a workspace folder. It need not be enabled. Watch
// gets its log lines and all messages.
func Try(ctx context.Context, o Options, p Plugin, settings any, getenv func(string) string, folder string, watch func(line string)) (*Trial, error) {
	r := newRunner(o, Listed{Plugin: p}, settings, []string{folder}, getenv)
	r.watch = watch
	x, err := r.running(ctx)
	if err != nil {
		r.close()
		return nil, err
	}
	return &Trial{r, x.offer, folder}, checkOffer(x.offer)
}

// Offer returns the tools, hooks and commands of the plugin.
func (t *Trial) Offer() Offer { return t.offer }

// Tool calls a tool.
func (t *Trial) Tool(ctx context.Context, name string, args json.RawMessage) error {
	ctx, stop := context.WithTimeout(ctx, toolLimit)
	defer stop()
	return t.runner.call(ctx, "tool", toolCall{name, args, "dev", t.folder}, nil, &call{ctx: ctx})
}

// Command runs a slash command.
func (t *Trial) Command(ctx context.Context, name, args string) error {
	ctx, stop := context.WithTimeout(ctx, toolLimit)
	defer stop()
	return t.runner.call(ctx, "command", map[string]string{"name": name, "args": args, "session_id": "dev", "cwd": t.folder}, nil, &call{ctx: ctx})
}

// Close ends the plugin.
func (t *Trial) Close() { t.runner.close() }
