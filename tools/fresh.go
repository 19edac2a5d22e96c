package tools

import "context"

// Fresh is a shell of its own, such as a subagent's: it begins in dir with the
// environment that s has now, and what it changes later changes nothing in s.
func (s *Shell) Fresh(dir string) *Shell {
	if s.elsewhere() {
		dir = s.first
	}
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return &Shell{
		Timeout: s.Timeout, program: s.program, first: dir, began: s.began, state: shellState{dir: dir, env: s.state.env},
		on: s.on, broken: s.broken, home: s.home,
	}
}

// MayWrite asks the gate whether a file may be written, and is nil when it may.
// Doing says what is done to it, such as "merge ".
func MayWrite(ctx context.Context, env *Env, call Call, doing, path string) error {
	return mayWrite(ctx, env, call, doing, path)
}
