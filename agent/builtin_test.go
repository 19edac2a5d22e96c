package agent_test

import (
	"slices"

	"github.com/hermes-ls/hermes-ls/tools"
	files "github.com/hermes-ls/hermes-ls/tools/file"
	commands "github.com/hermes-ls/hermes-ls/tools/shell"
)

// builtin returns the tools of an ordinary session.
func builtin() []tools.Tool {
	return slices.Concat(files.Tools(files.Config{}), commands.Tools(commands.Config{}), tools.Builtin())
}
