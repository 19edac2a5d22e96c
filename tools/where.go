package tools

// Where is the set of those tools that keep chooses, with the same hooks.
func (s *Set) Where(keep func(Tool) bool) *Set {
	chosen := s.empty()
	for _, t := range s.all() {
		if keep(t) {
			chosen.tools = append(chosen.tools, t)
		}
	}
	return chosen
}
