package tools

// Frozen is a shell that starts every command from the state that s has now, and
// keeps nothing of what a command changes. Commands of a script run so: many at
// once, and none of them moves the session.
func (s *Shell) Frozen() *Shell {
	s.stateMu.Lock()
	defer s.stateMu.Unlock()
	return &Shell{
		Timeout: s.Timeout, program: s.program, first: s.first, frozen: true, state: s.state,
		on: s.on, broken: s.broken, home: s.home,
	}
}
