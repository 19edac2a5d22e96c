package agent_test

import (
	"slices"

	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/tools"
	files "github.com/hermes-ls/hermes-ls/tools/file"
	commands "github.com/hermes-ls/hermes-ls/tools/shell"
)

// builtin returns the tools of an ordinary session with these files.
func builtin(at tools.Files) []tools.Tool {
	bounds := tools.Bounds{Files: at}
	return slices.Concat(files.Tools(files.Config{Bounds: bounds}), commands.Tools(commands.Config{Bounds: bounds}), []tools.Tool{todo.Tool(nil)})
}
