package delegate

import "github.com/hermes-ls/hermes-ls/extension"

// Table has the rows of the command table.
var Table = []extension.Command{
	{Execute: "hermes.delegate", VSCode: "hermes.delegate", Neovim: "delegate", Title: "Delegate…", Description: "Delegate a goal to a subagent", Order: 7},
	{Execute: "hermes.subagent.list", VSCode: "hermes.subagents", Neovim: "subagents", Title: "Subagents…", Description: "Show the subagents", Order: 8},
	{Execute: "hermes.subagent.message", Description: "Send a message to a subagent", Order: 9},
	{Execute: "hermes.subagent.stop", Description: "Cancel a subagent", Order: 9},
}
