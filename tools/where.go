package tools

import "slices"

// Where is the set of those tools that keep chooses, with the same events and
// secrets.
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

// Replace is the set in which each tool of an extension is one of tools that has its
// name. Those that have none are left out; tools of no extension stay.
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
