package tools

import "github.com/hermes-ls/hermes-ls/internal/sandbox"

// Bounds are the limits of a session's calls. Tools receive them when they are created.
type Bounds struct {
	Files Files // the files within reach of calls
	// Sandbox bounds commands. Nil: nothing does.
	Sandbox *sandbox.Box
	// Secrets are redacted in the output of commands. Nil: there are none.
	Secrets *Secrets
	// HermesHome is the directory of our own configuration, which no tool may write.
	HermesHome string
	Pictures   Pictures // limits of pictures
}

// For returns the limits of a call. In plan mode, its commands run in the sandbox of plan mode.
func (b Bounds) For(env *Env) Bounds {
	if env.Planning {
		b.Sandbox = sandbox.Planning(b.Sandbox)
	}
	return b
}
