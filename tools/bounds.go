package tools

import "github.com/hermes-ls/hermes-ls/internal/sandbox"

// Bounds are the limits of a session's calls. Tools that need them get them when they are
// made.
type Bounds struct {
	Files Files // that calls reach
	// Sandbox bounds commands. Nil: nothing does.
	Sandbox *sandbox.Box
	// Secrets are redacted in the output of commands. Nil: there are none.
	Secrets *Secrets
	// HermesHome is the directory of our own configuration, which no tool may write.
	HermesHome string
	Pictures   Pictures // limits of pictures
}

// For returns the limits of a call. In plan mode, its commands have the sandbox of that mode.
func (b Bounds) For(env *Env) Bounds {
	if env.Planning {
		b.Sandbox = sandbox.Planning(b.Sandbox)
	}
	return b
}
