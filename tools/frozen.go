package tools

// Frozen is a shell that starts every command from the state that s has now, and
// keeps nothing of what a command changes. Commands of a script run so: many at
// once, and none of them moves the session.
func (s *Shell) Frozen() *Shell {
	copied := &Shell{program: s.program, first: s.first, frozen: true}
	copied.state = s.snapshot()
	return copied
}
