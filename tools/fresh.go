package tools

// Fresh is a shell of its own, such as a subagent's: it begins in dir with the
// environment that s has now, and what it changes later changes nothing in s.
func (s *Shell) Fresh(dir string) *Shell {
	return &Shell{program: s.program, first: dir, state: shellState{dir: dir, env: s.snapshot().env}}
}
