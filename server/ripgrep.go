package server

import (
	"context"
	"io"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/search"
)

// searchLimit is how long one search may take; then the built-in engine answers.
const searchLimit = 30 * time.Second

// searchMemory is far more megabytes than a search needs. A file in the place of a list
// of rules may have no end.
const searchMemory = 2048

// ripgrep runs rg in the session's sandbox, where it can only read. If there is no rg on
// PATH, apart from one in the workspace, ripgrep returns nil.
func ripgrep(folders []string, box *sandbox.Box) search.Runner {
	path, err := program.Find("rg", folders)
	if err != nil {
		return nil
	}
	env, _ := proc.Environ(nil)
	env = program.Environ(env, folders)
	return func(ctx context.Context, args []string, dir string, stdout io.Writer) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, searchLimit)
		defer cancel()
		c := proc.Cmd{
			Args: append([]string{path}, args...), Dir: dir, Env: env, Stdout: stdout,
			Limits: proc.Limits{MemoryMB: searchMemory},
		}
		if err := box.ConfineOwn(ctx, &c, sandbox.Own{}); err != nil {
			return 0, err
		}
		exit, err := proc.Run(ctx, c)
		return exit.Code, err
	}
}
