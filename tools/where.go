package tools

import "slices"

// Where returns the set of tools for which keep returns true, with the same events and secrets.
func (s *Set) Where(keep func(Tool) bool) *Set {
	chosen := s.empty()
	chosen.admits = append(chosen.admits, keep)
	for _, t := range s.List() {
		if keep(t) {
			chosen.append(t)
		}
	}
	return chosen
}

// Replace returns a set in which each extension tool is replaced by the tool of the same name in
// tools. Without such a tool, it is left out. Tools without an extension stay.
func (s *Set) Replace(tools []Tool) (*Set, error) {
	replaced := s.empty()
	for _, t := range s.List() {
		if t.Owner != "" {
			i := slices.IndexFunc(tools, func(other Tool) bool { return other.Name == t.Name && other.Owner == t.Owner })
			if i < 0 {
				continue
			}
			t = tools[i]
		}
		if err := replaced.Add(t); err != nil {
			return nil, err
		}
	}
	return replaced, nil
}
