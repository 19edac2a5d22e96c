package plugins

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
)

var command = extension.Command{Name: "plugins", Neovim: "plugins", Sent: true, Description: "Show the plugins of this session", Order: 192}

// Table holds the rows of the command table.
var Table = []extension.Command{command}

// list is /plugins.
func (x *instance) list(context.Context, string) (string, error) {
	if len(x.plugins)+len(x.off) == 0 {
		return "No plugin is enabled. `hermes-ls plugin list` shows those that are installed; see docs/plugins.md.", nil
	}
	var b strings.Builder
	for _, p := range x.plugins {
		fmt.Fprintf(&b, "- **%s** %s: %s\n", p.Name, p.Version, oneLine(p.Description, 200))
		if names := p.offer.toolNames(); len(names) > 0 {
			fmt.Fprintf(&b, "  tools: %s\n", extension.CodeList(names))
		}
		if len(p.offer.Hooks) > 0 {
			fmt.Fprintf(&b, "  hooks: %s\n", extension.CodeList(p.offer.Hooks))
		}
		for _, part := range p.Contents() {
			fmt.Fprintf(&b, "  %s\n", oneLine(part, 200))
		}
		fmt.Fprintf(&b, "  may: %s\n", p.Permissions)
	}
	for _, l := range x.off {
		fmt.Fprintf(&b, "- **%s**: %s\n", l.Name, l.Problem())
	}
	return b.String(), nil
}

func (o Offer) toolNames() (names []string) {
	for _, t := range o.Tools {
		names = append(names, t.Name)
	}
	return names
}

// String describes the permissions in words.
func (p Permissions) String() string {
	files := map[Access]string{"": "use no files of the workspace", None: "use no files of the workspace", Read: "read the workspace", Write: "read and write the workspace"}
	network := "without network"
	if p.Network {
		network = "with network"
	}
	text := files[p.Files] + ", " + network
	if len(p.Env) > 0 {
		text += "; variables: " + strings.Join(p.Env, ", ")
	}
	if len(p.Tools) > 0 {
		text += "; calls tools: " + strings.Join(p.Tools, ", ")
	}
	if len(p.Override) > 0 {
		text += "; replaces tools: " + strings.Join(p.Override, ", ")
	}
	return text
}
