package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
	"mvdan.cc/sh/v3/syntax"
)

// shell evaluates statements of the shell. Its methods change the state.
type shell struct {
	*analyzer
	*state
}

// fork returns a shell with a copy of the state, as for a subshell or a branch.
func (s shell) fork() shell { return shell{s.analyzer, s.clone()} }

func (s shell) stmts(list []*syntax.Stmt) {
	for _, stmt := range list {
		s.stmt(stmt)
	}
}

// ways runs alternative lists of statements and joins their states.
func (s shell) ways(lists ...[]*syntax.Stmt) {
	var after []*state
	for _, list := range lists {
		f := s.fork()
		f.stmts(list)
		after = append(after, f.state)
	}
	s.join(after...)
}

func (s shell) stmt(stmt *syntax.Stmt) {
	if stmt == nil || !s.enter() {
		return
	}
	defer s.leave()
	if stmt.Background || stmt.Coprocess || stmt.Disown {
		s = s.fork()
		s.forks++
		defer func() { s.forks-- }()
	}
	stdin := s.stdin
	s.each(func(s shell) {
		s.stdin = stdin
		for _, r := range stmt.Redirs {
			s.stdin = s.redirect(stmt, r)
		}
		s.command(stmt.Cmd)
	})
	s.stdin = stdin
}

// redirect judges a redirection and returns the input after it.
func (s shell) redirect(stmt *syntax.Stmt, r *syntax.Redirect) input {
	s.inner(r)
	target := s.text(r.Word).text
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return input{some: true, known: true, text: s.here(r)}
	case syntax.RdrIn:
		if openStream.MatchString(target) {
			return input{some: true, how: origin(r.Word)}
		}
		s.reads(s.state, field{text: target})
		return s.made(absolute(s.state, target))
	case syntax.DplIn:
		return input{some: true} // an already open file
	case syntax.DplOut:
		if strings.Trim(target, "0123456789-"+number) == "" {
			return s.stdin
		}
	}
	to := field{text: target, glob: strings.ContainsAny(target, "*?[")}
	s.writes(&call{st: s.state}, to)
	s.put(s.state, to, s.producer(stmt), r.Op == syntax.AppOut)
	return s.stdin
}

func (s shell) command(cmd syntax.Command) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		s.simple(c)
	case *syntax.DeclClause:
		s.inner(c)
		words := append([]field{{text: c.Variant.Value}}, s.assigned(c.Args)...)
		s.call(&call{args: words, words: words, st: s.state})
	case *syntax.BinaryCmd:
		s.binary(c)
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.Subshell:
		s.fork().stmts(c.Stmts)
	case *syntax.IfClause:
		switch s.stmts(c.Cond); {
		case len(c.Cond) == 0: // an else
			s.stmts(c.Then)
		case c.Else == nil:
			s.ways(c.Then, nil)
		default:
			s.ways(c.Then, []*syntax.Stmt{{Cmd: c.Else}})
		}
	case *syntax.WhileClause:
		s.loop("_", several, append(slices.Clip(c.Cond), c.Do...))
	case *syntax.ForClause:
		s.forLoop(c)
	case *syntax.CaseClause:
		s.inner(c.Word)
		ways := [][]*syntax.Stmt{nil}
		for _, item := range c.Items {
			for _, pattern := range item.Patterns {
				s.inner(pattern)
			}
			ways = append(ways, item.Stmts)
		}
		s.ways(ways...)
	case *syntax.FuncDecl:
		for _, n := range append(c.Names, c.Name) {
			if n != nil {
				s.funcs[n.Value] = union(s.funcs[n.Value], []*syntax.Stmt{c.Body})
			}
		}
	case *syntax.TimeClause:
		s.stmt(c.Stmt)
	case *syntax.CoprocClause:
		s.beside(input{some: true}, c.Stmt)
	case *syntax.ArithmCmd, *syntax.LetClause:
		s.inner(c)
		s.forget() // it may assign
	default:
		s.inner(c)
	}
}

// beside evaluates statements in a separate process, in parallel with others.
func (s shell) beside(stdin input, list ...*syntax.Stmt) {
	saved := s.stdin
	s.stdin = stdin
	s.forks++
	s.fork().stmts(list)
	s.forks--
	s.stdin = saved
}

// inner judges the substitutions within a node, and the side effects of expansions.
func (s shell) inner(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.fork().stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			stdin := s.stdin
			stdin.some = stdin.some || n.Op == syntax.CmdOut
			s.beside(stdin, n.Stmts...)
			return false
		case *syntax.ParamExp:
			if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
				s.set(n.Param.Value, anything)
			}
		}
		return true
	})
}

// firstWord returns the program of a simple command if it is written plainly.
func firstWord(stmt *syntax.Stmt) string {
	if c, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		return c.Args[0].Lit()
	}
	return ""
}

// maxItems is for how many values of its variable the body of a loop is judged.
const maxItems = 64

// several are items of which nothing is known.
var several = []field{anything, anything}

// loop judges a body for each value of a variable. It may end before any of them.
func (s shell) loop(name string, items []field, body []*syntax.Stmt) {
	if len(items) > maxItems {
		items = several
	}
	after := []*state{s.clone()}
	for _, item := range items {
		s.set(name, item)
		s.stmts(body)
		after = append(after, s.clone())
	}
	s.join(after...)
}

func (s shell) forLoop(c *syntax.ForClause) {
	s.inner(c.Loop)
	l, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		s.forget()
		s.loop("_", several, c.Do)
		return
	}
	name := l.Name.Value
	s.sets(name, unknown)
	items := s.args
	if l.InPos.IsValid() {
		items = s.expand(l.Items)
	}
	if len(items) == 0 {
		items = []field{anything}
	}
	if slices.ContainsFunc(items, func(f field) bool { return !f.seen() }) { // it may expand to several
		items = append(slices.Clip(items), items...)
	}
	s.loop(name, items, c.Do)
}

// binary judges two statements. Within "a && b && c" each command knows that the previous commands
// have succeeded. The chain may end after each, except after an assignment, which cannot fail.
func (s shell) binary(c *syntax.BinaryCmd) {
	x, y := []*syntax.Stmt{c.X}, []*syntax.Stmt{c.Y}
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.beside(s.stdin, x...)
		s.beside(s.producer(c.X), y...)
	case syntax.OrStmt:
		s.ways(x, y)
	default:
		if and, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && and.Op == syntax.AndStmt && len(c.X.Redirs) == 0 {
			rest := &syntax.Stmt{Cmd: &syntax.BinaryCmd{Op: and.Op, X: and.Y, Y: c.Y}}
			s.binary(&syntax.BinaryCmd{Op: and.Op, X: and.X, Y: rest})
			return
		}
		s.stmt(c.X)
		if set, ok := c.X.Cmd.(*syntax.CallExpr); ok && len(set.Args) == 0 {
			s.stmt(c.Y)
		} else {
			s.ways(nil, y)
		}
	}
}

// simple judges assignments, or a command with its assignments.
func (s shell) simple(c *syntax.CallExpr) {
	s.inner(c)
	assigns, args := s.assigned(c.Assigns), s.expand(c.Args)
	call := &call{args: args, words: append(slices.Clip(assigns), args...), st: s.state}
	for _, a := range assigns {
		s.assign(call, a, len(c.Args) == 0)
	}
	s.call(call)
}

// assign judges the setting of a variable, NAME=VALUE, of the shell or of a single command: it may
// change what later programs run.
func (j *analyzer) assign(c *call, a field, lasts bool) {
	name, val, _ := strings.Cut(a.text, "=")
	j.sets(name, val)
	j.apply(&call{name: name, args: []field{{text: "--value=" + val}}, words: c.words, st: c.st}, rules.Of(name+"="))
	if j.hides(val); lasts {
		c.st.set(name, field{text: val})
		if rules.In("git-settings-from", name) {
			j.ask(c, "sets "+name+" for later commands: git would not read your settings, and leave out signatures")
		}
	}
}

// assigned returns assignments as words.
func (s shell) assigned(assigns []*syntax.Assign) (out []field) {
	for _, a := range assigns {
		f := s.text(a.Value)
		switch {
		case a.Naked && a.Name != nil:
			f.text = a.Name.Value
		case !a.Naked:
			if a.Append {
				f.text = s.variable(a.Name.Value).text + f.text
			}
			if a.Array != nil || a.Index != nil {
				f.text = unknown
			}
			f = field{text: a.Name.Value + "=" + f.text}
		}
		out = append(out, f)
	}
	return out
}

// subscript matches text that the shell parses as an array element: if the shell calculates with
// it, it runs the substitution, as in a[$(…)].
var subscript = lazyregexp.New("^[\\w\\s=+*/%(<>&|!?:,-]*\\w\\[[^\\]]*(\\$\\(|`)")

// hides judges text in which the shell may calculate.
func (j *analyzer) hides(text string) {
	if subscript.MatchString(text) {
		j.note(Asks, "hides a command in the subscript of an array", j.whole())
	}
}

// look judges the syntax of code: commands hidden in quoted texts, and unsupported syntax that may
// run or replace a program.
func (j *analyzer) look(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause, *syntax.TestDecl:
			j.foreign = true
		case *syntax.DeclClause:
			j.foreign = j.foreign || n.Variant.Value != "export"
		case *syntax.Assign:
			j.foreign = j.foreign || n.Index != nil || n.Array != nil
		case *syntax.ParamExp:
			j.foreign = j.foreign || n.Slice != nil || n.Index != nil || n.Excl
			if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P" {
				j.note(Asks, "expands a variable as a prompt, which can run commands", j.whole())
			}
		case *syntax.SglQuoted:
			if j.hides(n.Value); n.Dollar {
				j.hides(code.Unescape(n.Value))
			}
		case *syntax.DblQuoted:
			word := &syntax.Word{Parts: n.Parts}
			j.hides(quotedEscape.ReplaceAllString(word.Lit(), "$1"))
		}
		return true
	})
}

// Marks for unknown parts of a text.
const (
	unknown = paths.Unknown
	fresh   = paths.Fresh
	number  = paths.Number
)

var anything = field{text: unknown}

// state holds the variables and the directory of the shell at a point of a script. If a script may
// have taken several paths, a variable has several values.
type state struct {
	vars map[string][]field // the value of "" is the value of all others, after unseen code may have set any variable
	cwd  string             // it may be unknown
	args []field            // $1 and on; nil: they are not known
	left bool               // the script has ended
}

// folder is the name of the entry with the shell's possible directories.
const folder = "."

// maxValues is the maximum number of tracked values of a variable. With more, it may have any
// value.
const maxValues = 16

func (s *state) clone() *state {
	c := *s
	return &c
}

// set gives a variable a single value. Clones of the state keep theirs.
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

// forget drops all knowledge of variables.
func (s *state) forget() { s.vars = map[string][]field{"": {anything}} }

// get returns the values of a variable; none, if nothing in the script has set it.
func (s *state) get(name string) []field {
	if list, ok := s.vars[name]; ok {
		return list
	}
	return s.vars[""]
}

// each calls do once for each possible value of the variables, in the order of the values, without
// combining them. Then it joins the resulting states.
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

// one returns the value of a list for the current round of [shell.each].
func (s shell) one(list []field) field {
	s.most = max(s.most, len(list))
	return list[min(s.pick, len(list)-1)]
}

// join merges several possible states. States that have left the script do not count.
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
