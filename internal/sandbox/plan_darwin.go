package sandbox

import (
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// apply makes sandbox-exec run the command.
func (m Mechanism) apply(p Policy, c *proc.Cmd, _ *Temp) error {
	if m.Kind == Seatbelt {
		c.Args = append([]string{sandboxExec, "-p", profile(p)}, slices.Clone(c.Args)...)
	}
	return nil
}
