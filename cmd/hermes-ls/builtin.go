package main

import (
	"slices"

	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
	commands "github.com/hermes-ls/hermes-ls/tools/shell"
)

// builtin returns the tools whose calls have titles in a stored session.
func builtin() []tools.Tool {
	return slices.Concat(file.Tools(file.Config{}), commands.Tools(commands.Config{}), []tools.Tool{todo.Tool(nil)})
}
