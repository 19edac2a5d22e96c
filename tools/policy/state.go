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

// state holds the variables and the folder of the shell at one point of a script. Where a
// script may have gone several ways, a variable has several values.
type state struct {
	vars map[string][]field // the value of "" is that of all others, after something unseen may have set any of them
	cwd  string             // it may be unknown
	args []field            // $1 and on; nil: they are not known
	left bool               // the script has ended
}

// folder is the name under which the folders are kept that the shell may be in.
const folder = "."

// maxValues is how many values of a variable are followed. If there are more, it may have any.
const maxValues = 16

func (s *state) clone() *state {
	c := *s
	return &c
}

// set gives a variable one value. Clones of the state keep theirs.
func (s *state) set(name string, val field) {
	vars := s.vars
	s.vars = map[string][]field{}
	maps.Copy(s.vars, vars)
	s.vars[name] = []field{{text: val.text, glob: val.glob}}
}

// goTo changes the folder of the shell.
func (s *state) goTo(name string) {
	s.cwd = name
	s.set(folder, field{text: name})
}

// setArgs sets $1 and on. If a part of them is not known, none is.
func (s *state) setArgs(args []field) {
	if s.args = append([]field{}, args...); unseen(args) {
		s.args = nil
	}
}

// forget drops all that is known of variables.
func (s *state) forget() { s.vars = map[string][]field{"": {anything}} }

// get returns the values of a variable; none, if nothing in the script has set it.
func (s *state) get(name string) []field {
	if list, ok := s.vars[name]; ok {
		return list
	}
	return s.vars[""]
}

// each does something once for each value that the variables may have, in the order of the
// values: it does not combine each with each. Afterwards all that it has set may be so.
func (s shell) each(do func(shell)) {
	began, pick, most := s.clone(), s.pick, s.most
	var ended []*state
	for s.pick, s.most = 0, 0; s.pick == 0 || s.pick < s.most; s.pick++ {
		one := began.clone()
		one.goTo(s.one(shell{s.analyzer, one}.values(folder)).text)
		do(shell{s.analyzer, one})
		ended = append(ended, one)
	}
	s.pick, s.most = pick, most
	s.join(ended...)
}

// one returns the value of a list for the present turn of [shell.each].
func (s shell) one(list []field) field {
	s.most = max(s.most, len(list))
	return list[min(s.pick, len(list)-1)]
}

// join continues with all that may be so in one of several states. Those that have left the script do not count.
func (s shell) join(list ...*state) {
	out := list[0].clone()
	for _, st := range slices.DeleteFunc(list[1:], func(st *state) bool { return st.left }) {
		if out.left {
			out = st.clone()
		}
		if st.args == nil || !slices.Equal(out.args, st.args) {
			out.args = nil
		}
		vars := map[string][]field{}
		maps.Copy(vars, out.vars)
		maps.Copy(vars, st.vars)
		for name := range vars {
			if slices.Equal(out.vars[name], st.vars[name]) {
				continue
			}
			vars[name] = union(shell{s.analyzer, out}.values(name), shell{s.analyzer, st}.values(name))
			if name == "" || len(vars[name]) > maxValues {
				vars[name] = []field{anything}
			}
		}
		out.vars = vars
	}
	*s.state = *out
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
