package policy

import (
	"maps"
	"slices"

	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
)

// Marks for parts of a text that cannot be known.
const (
	unknown = paths.Unknown
	fresh   = paths.Fresh
	number  = paths.Number
)

var anything = field{text: unknown}

// state holds the variables and the folder of the shell at one point of a script. Each variable
// has one value. Where a script may have gone several ways, there are several states.
type state struct {
	vars      map[string]field // the value of "" is that of all others, after something unseen may have set any of them
	cwd       string           // it may be unknown
	args      []field          // $1 and on
	argsKnown bool
	others    []*state // after a command: the other states in which it may have left the shell
}

func (s *state) clone() *state {
	c := *s
	c.vars = maps.Clone(s.vars)
	return &c
}

func (s *state) set(name string, val field) {
	if s.vars == nil {
		s.vars = map[string]field{}
	}
	s.vars[name] = field{text: val.text, glob: val.glob}
}

// forget drops all that is known of variables.
func (s *state) forget() { s.vars = map[string]field{"": anything} }

// get returns the value of a variable. If nothing in the script has set it, ok is false.
func (s *state) get(name string) (val field, ok bool) {
	if val, ok = s.vars[name]; !ok {
		val, ok = s.vars[""]
	}
	return val, ok
}

// become takes one of several states; the others follow it.
func (s *state) become(list []*state) {
	*s = *list[0]
	s.others = list[1:]
}

func (s *state) equal(t *state) bool {
	return s.cwd == t.cwd && s.argsKnown == t.argsKnown && slices.Equal(s.args, t.args) && maps.Equal(s.vars, t.vars)
}

// maxStates is how many states are followed. If there are more, they become one of
// which nothing is known.
const maxStates = 32

// merge returns the different states of a list.
func merge(list []*state) (out []*state) {
	for _, s := range list {
		if !slices.ContainsFunc(out, s.equal) {
			out = append(out, s)
		}
	}
	if len(out) <= maxStates {
		return out
	}
	one := &state{cwd: unknown}
	one.forget()
	return []*state{one}
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
