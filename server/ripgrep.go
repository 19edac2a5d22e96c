package server

import (
	"context"
	"io"
	"os/exec"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// searchLimit is how long one search may take; then the built-in engine answers.
const searchLimit = 30 * time.Second

// searchMemory is far more megabytes than a search needs. A file in the place of a list
// of rules may have no end.
const searchMemory = 2048

// ripgrep runs the rg that is on PATH; nil when there is none.
func ripgrep() workspace.Runner {
	path, err := exec.LookPath("rg")
	if err != nil {
		return nil
	}
	env, _ := proc.Environ(nil)
	return func(ctx context.Context, args []string, dir string, stdout io.Writer) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, searchLimit)
		defer cancel()
		exit, err := proc.Run(ctx, proc.Cmd{
			Args: append([]string{path}, args...), Dir: dir, Env: env, Stdout: stdout,
			Limits: proc.Limits{MemoryMB: searchMemory},
		})
		return exit.Code, err
	}
}
