package codeexec

import (
	"context"
	"fmt"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
)

// openFiles is how many descriptors a script may have.
const openFiles = 1024

// confine sets what bounds the process of a script: its limits, and the session's
// sandbox, in which its staging folder is writable. opening is what the user has approved
// for it. An error means that the process may not start.
func (r *Runner) confine(ctx context.Context, env *tools.Env, c *proc.Cmd, opening sandbox.Opening) error {
	c.Limits = proc.Limits{MemoryMB: r.cfg.MaxMemoryMB, Processes: r.cfg.MaxProcs, OpenFiles: openFiles}
	if err := env.Sandbox.With(opening).Confine(ctx, c); err != nil {
		return fmt.Errorf("the script was not started: %w", err)
	}
	return nil
}
