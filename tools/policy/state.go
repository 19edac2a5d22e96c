package policy

import "slices"

// Marks stand in the text of a word for parts that cannot be known. They cannot come
// from a source: NUL and control characters there become unknown.
const (
	unknown = "\x00" // any text at all
	fresh   = "\x01" // the path of a file that mktemp has just made
	number  = "\x02" // a number, such as $! or $?, or a name of git's, which is no option either
)

// value is one of the texts that a variable may have.
type value struct {
	text string
	glob bool // a pattern that stands for the names it matches
}

var anything = []value{{text: unknown}}

// binding is one assignment in a list that only grows, so that a branch is a
// copied pointer. A name of "" forgets all that came before it.
type binding struct {
	next *binding
	name string
	vals []value
}

// state holds the variables and folders of the shell at one point of a script.
type state struct {
	vars      *binding
	cwds      []string // where it may be; unknown is one of them
	args      []field  // $1 and on
	argsKnown bool
}

func (s *state) clone() *state {
	c := *s
	return &c
}

func (s *state) set(name string, vals []value) {
	if len(vals) == 0 || len(vals) > maxEnvironments {
		vals = anything
	}
	s.vars = &binding{s.vars, name, vals}
}

// forget drops all that is known of variables, after something unseen may have
// set any of them.
func (s *state) forget() { s.vars = &binding{s.vars, "", nil} }

// get returns the possible values of a variable. If nothing in the script has set it, ok is
// false.
func (s *state) get(name string) (vals []value, ok bool) {
	for b := s.vars; b != nil; b = b.next {
		if b.name == name {
			return b.vals, true
		}
		if b.name == "" {
			return anything, true
		}
	}
	return nil, false
}

// join is the state after one of two branches, both begun from base.
func join(base, a, b *state) *state {
	out := a.clone()
	if out.cwds = union(a.cwds, b.cwds); len(out.cwds) > maxCwds {
		out.cwds = []string{unknown}
	}
	if !b.argsKnown {
		out.argsKnown = false
	}
	out.vars = base.vars
	var names []string
	for _, s := range []*state{a, b} {
		for v := s.vars; v != nil && v != base.vars; v = v.next {
			if !slices.Contains(names, v.name) {
				names = append(names, v.name)
			}
		}
	}
	if slices.Contains(names, "") {
		out.forget()
	}
	for _, name := range names {
		if name != "" {
			out.set(name, union(a.either(name), b.either(name)))
		}
	}
	return out
}

func (s *state) either(name string) []value {
	if vals, ok := s.get(name); ok {
		return vals
	}
	return anything
}

func union[T comparable](a, b []T) []T {
	out := slices.Clip(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// maxEnvironments is how many combinations of the values of variables are followed
// for one command before they count as unknown.
const maxEnvironments = 64

// environments walks through the combinations of values that the variables in one
// command may have: each expansion of it asks pick for every variable it meets,
// and next moves on to the next combination.
type environments struct {
	names []string
	sizes []int
	at    []int
	blur  bool // there were too many: all that is ambiguous is unknown
}

func (w *environments) pick(name string, vals []value) value {
	if len(vals) == 1 {
		return vals[0]
	}
	if w.blur {
		return anything[0]
	}
	i := slices.Index(w.names, name)
	if i < 0 {
		i = len(w.names)
		w.names = append(w.names, name)
		w.sizes = append(w.sizes, len(vals))
		w.at = append(w.at, 0)
	}
	return vals[min(w.at[i], len(vals)-1)]
}

func (w *environments) next() bool {
	for i := len(w.at) - 1; i >= 0; i-- {
		if w.at[i]+1 < w.sizes[i] {
			w.at[i]++
			w.names, w.sizes, w.at = w.names[:i+1], w.sizes[:i+1], w.at[:i+1]
			return true
		}
	}
	return false
}
