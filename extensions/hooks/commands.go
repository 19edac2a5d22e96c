package hooks

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/escape"
)

var command = extension.Command{Name: "hooks", Neovim: "hooks", Sent: true, Description: "Show the hooks of this session", Order: 190}

// Table holds the rows of the command table.
var Table = []extension.Command{command}

// Commands returns /hooks.
func (x *instance) Commands() []extension.Command { return []extension.Command{command.With(x.list)} }

// list is /hooks.
func (x *instance) list(context.Context, string) (string, error) {
	if len(x.hooks) == 0 {
		return "There are no hooks. `hooks` in config.yaml adds them; see docs/hooks.md.", nil
	}
	var b strings.Builder
	b.WriteString("| event | tools | program | state |\n| --- | --- | --- | --- |\n")
	for _, h := range x.hooks {
		state := cmp.Or(h.unfit, "ready")
		if err := x.check(h); err != nil {
			state = "cannot start: " + err.Error()
		}
		matcher := h.Matcher
		if matcher == "" {
			matcher = "all"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", h.Event, cell(matcher), cell(h.Command), cell(state))
	}
	return b.String(), nil
}

// cell returns a text as code in a table.
func cell(text string) string {
	return "`" + strings.NewReplacer("|", `\|`, "`", "'").Replace(escape.Line(text)) + "`"
}
