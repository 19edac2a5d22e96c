package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"mvdan.cc/sh/v3/syntax"
)

// shell evaluates statements of the shell in one state. Its methods change the state, or
// return the states that may follow.
type shell struct {
	*analyzer
	*state
}

// fork returns a shell with a state of its own, as of a subshell or a branch.
func (s shell) fork() shell { return shell{s.analyzer, s.clone()} }

// each evaluates something in each of several states.
func (s shell) each(list []*state, do func(shell) []*state) (out []*state) {
	for _, st := range list {
		out = append(out, do(shell{s.analyzer, st})...)
	}
	return merge(out)
}

func (s shell) stmts(list []*syntax.Stmt) []*state {
	states := []*state{s.state}
	for _, stmt := range list {
		states = s.each(states, func(s shell) []*state { return s.stmt(stmt) })
	}
	return states
}

// branch evaluates statements on a copy of the state. If they leave the script or the loop, no
// state follows.
func (s shell) branch(list []*syntax.Stmt) []*state {
	out := s.fork().stmts(list)
	if ends(list) {
		return nil
	}
	return out
}

func (s shell) stmt(stmt *syntax.Stmt) []*state {
	if stmt == nil || !s.enter() {
		return []*state{s.state}
	}
	defer s.leave()
	outer := s
	if stmt.Background || stmt.Coprocess || stmt.Disown {
		s = s.fork()
		s.forks++
		defer func() { s.forks-- }()
	}
	stdin := s.stdin
	defer func() { s.stdin = stdin }()
	for _, r := range stmt.Redirs {
		s.stdin = s.redirect(stmt, r)
	}
	out := s.command(stmt.Cmd)
	if s != outer {
		return []*state{outer.state}
	}
	return out
}

// command judges a command and returns the states that may follow.
func (s shell) command(cmd syntax.Command) []*state {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		return s.simple(c)
	case *syntax.DeclClause:
		return s.defaulted(func(s shell) { s.declare(c) })
	case *syntax.BinaryCmd:
		return s.binary(c)
	case *syntax.Block:
		return s.stmts(c.Stmts)
	case *syntax.Subshell:
		s.fork().stmts(c.Stmts)
	case *syntax.IfClause:
		return s.conditional(c)
	case *syntax.WhileClause:
		return s.loop([]field{{}, {}}, func(s shell, _ field) []*state {
			return s.each(s.stmts(c.Cond), func(s shell) []*state { return s.stmts(c.Do) })
		})
	case *syntax.ForClause:
		return s.forLoop(c)
	case *syntax.CaseClause:
		return s.cases(c)
	case *syntax.FuncDecl:
		s.foreign = true // it may take the place of a program
		for _, n := range append(c.Names, c.Name) {
			if n != nil {
				s.funcs[n.Value] = append(s.funcs[n.Value], c.Body)
			}
		}
	case *syntax.TimeClause:
		return s.stmt(c.Stmt)
	case *syntax.CoprocClause:
		s.beside(input{some: true}, []*syntax.Stmt{c.Stmt})
	default:
		s.foreign = true // it may run the code in a subscript; a test calculates, too
		s.inner(c)
		switch c.(type) {
		case *syntax.ArithmCmd, *syntax.LetClause:
			s.forget() // it may assign
		}
	}
	return []*state{s.state}
}

// beside evaluates statements in a process of their own, which others run beside.
func (s shell) beside(stdin input, list []*syntax.Stmt) {
	saved := s.stdin
	s.stdin = stdin
	s.forks++
	s.fork().stmts(list)
	s.forks--
	s.stdin = saved
}

// inner judges the substitutions within the words of a node, and the side effects of
// expansions.
func (s shell) inner(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.substFiles = union(s.substFiles, s.sources(n))
			s.fork().stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			s.substFiles = union(s.substFiles, s.sources(n))
			stdin := s.stdin
			if n.Op == syntax.CmdOut && !stdin.known {
				stdin = input{some: true}
			}
			s.beside(stdin, n.Stmts)
			return false
		case *syntax.ParamExp:
			s.foreign = s.foreign || n.Slice != nil || n.Index != nil || n.Excl
			switch {
			case n.Exp == nil:
			case n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P":
				s.note(Asks, "expands a variable as a prompt, which can run commands", s.whole())
			case n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull):
				s.set(n.Param.Value, anything)
			}
		case *syntax.ArithmExp:
			s.foreign = true
		}
		return true
	})
}

// words judges the substitutions within words.
func (s shell) words(words ...*syntax.Word) {
	for _, w := range words {
		if w == nil {
			continue
		}
		for _, p := range w.Parts {
			switch p.(type) {
			case *syntax.Lit, *syntax.SglQuoted:
			default:
				s.inner(p)
			}
		}
	}
}

func (s shell) conditional(c *syntax.IfClause) []*state {
	if len(c.Cond) == 0 { // else
		return s.branch(c.Then)
	}
	return s.each(s.stmts(c.Cond), func(s shell) []*state {
		out := s.branch(c.Then)
		if c.Else == nil {
			return append(out, s.state)
		}
		if out = append(out, s.conditional(c.Else)...); len(out) == 0 {
			return []*state{s.state}
		}
		return out
	})
}

// ends tells whether a list of statements leaves the script or the loop.
func ends(list []*syntax.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	if block, ok := last.Cmd.(*syntax.Block); ok {
		return ends(block.Stmts)
	}
	return contains("exit return continue break", firstWord(last)) && firstWord(last) != ""
}

// firstWord returns the program of a simple command if it is written plainly.
func firstWord(stmt *syntax.Stmt) string {
	if c, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		return c.Args[0].Lit()
	}
	return ""
}

// maxItems is how often the bodies of loops within loops are judged.
const maxItems = 64

// loop judges a body for each item. It may end before any of them.
func (s shell) loop(items []field, body func(shell, field) []*state) []*state {
	if len(items)*max(1, s.unrolled) > maxItems {
		items = []field{anything, anything}
	}
	outer := s.unrolled
	s.unrolled = len(items) * max(1, outer)
	defer func() { s.unrolled = outer }()
	states := []*state{s.state}
	all := []*state{s.clone()}
	for _, item := range items {
		before := len(all)
		states = s.each(states, func(s shell) []*state { return body(s.fork(), item) })
		if all = merge(append(all, states...)); len(all) == before && len(items) == 2 && items[0] == items[1] {
			break // the same again
		}
	}
	return all
}

func (s shell) forLoop(c *syntax.ForClause) []*state {
	l, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		s.inner(c.Loop)
		s.forget()
		return s.loop([]field{{}, {}}, func(s shell, _ field) []*state { return s.stmts(c.Do) })
	}
	name := l.Name.Value
	s.sets(name, unknown)
	s.words(l.Items...)
	items := s.args
	switch {
	case l.InPos.IsValid():
		items = nil
		s.alternatives(func() { items = union(items, s.expand(l.Items)) })
	case !s.argsKnown:
		items = []field{anything}
	}
	if len(items) == 0 {
		items = []field{{}}
	}
	if slices.ContainsFunc(items, func(f field) bool { return !f.seen() }) { // it may stand for several
		items = append(slices.Clip(items), items...)
	}
	out := s.loop(items, func(s shell, item field) []*state {
		s.set(name, item)
		return s.stmts(c.Do)
	})
	for _, st := range out {
		st.set(name, anything)
	}
	return merge(out)
}

func (s shell) cases(c *syntax.CaseClause) []*state {
	s.words(c.Word)
	out := []*state{s.state}
	for _, item := range c.Items {
		s.words(item.Patterns...)
		out = append(out, s.branch(item.Stmts)...)
	}
	return merge(out)
}

func (s shell) binary(c *syntax.BinaryCmd) []*state {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.forks++
		s.fork().stmt(c.X)
		s.beside(s.producer(c.X), []*syntax.Stmt{c.Y})
		s.forks--
		return []*state{s.state}
	case syntax.AndStmt:
		return s.chain(andChain(c))
	}
	failed := s.fork()
	return merge(append(s.stmt(c.X), failed.branch([]*syntax.Stmt{c.Y})...))
}

// andChain returns a, b and c of "a && b && c".
func andChain(c *syntax.BinaryCmd) []*syntax.Stmt {
	if x, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && x.Op == syntax.AndStmt && len(c.X.Redirs) == 0 {
		return append(andChain(x), c.Y)
	}
	return []*syntax.Stmt{c.X, c.Y}
}

// chain judges "a && b && c": within it each knows that those before it have
// run. After it, the chain may have ended behind the first. An assignment cannot fail.
func (s shell) chain(list []*syntax.Stmt) (broken []*state) {
	states := []*state{s.state}
	for i, stmt := range list {
		if broken == nil && i > 0 {
			if c, ok := list[i-1].Cmd.(*syntax.CallExpr); !ok || len(c.Args) > 0 {
				for _, st := range states {
					broken = append(broken, st.clone())
				}
			}
		}
		states = s.each(states, func(s shell) []*state { return s.stmt(stmt) })
	}
	return merge(append(broken, states...))
}

// alternatives runs a function. If it meets ${x:-y} of which x is not known, it runs again with
// y in its place.
func (j *analyzer) alternatives(do func()) {
	takes, met := j.takesDefault, j.metDefault
	j.takesDefault, j.metDefault = false, false
	if do(); j.metDefault {
		j.takesDefault = true
		do()
	}
	j.takesDefault, j.metDefault = takes, met
}

// defaulted judges something that changes the state, with all alternatives.
func (s shell) defaulted(do func(shell)) (out []*state) {
	s.alternatives(func() {
		one := s.fork()
		do(one)
		out = append(append(out, one.state), one.others...)
	})
	for _, st := range out {
		st.others = nil
	}
	return merge(out)
}

// simple judges assignments, or a command with those before it.
func (s shell) simple(c *syntax.CallExpr) []*state {
	for _, a := range c.Assigns {
		s.assign(a)
	}
	if len(c.Args) == 0 {
		return s.defaulted(func(s shell) { s.keep(c.Assigns) })
	}
	s.words(c.Args...)
	return s.defaulted(func(s shell) {
		args := s.expand(c.Args)
		words := args
		if len(c.Assigns) > 0 {
			words = append(s.assigned(c.Assigns), args...)
		}
		for _, a := range c.Assigns {
			if a.Name != nil && a.Value != nil {
				s.variableSet(&call{words: words, st: s.state}, a.Name.Value, s.text(a.Value).text)
			}
		}
		if len(args) > 0 { // the program may be empty: "$x" that is nothing
			s.call(&call{args: args, words: words, st: s.state})
		}
	})
}

// assign judges the value of an assignment.
func (s shell) assign(a *syntax.Assign) {
	s.words(a.Value)
	if a.Name != nil {
		s.sets(a.Name.Value, s.text(a.Value).text)
	}
	if a.Index != nil {
		s.foreign = true
		s.inner(a.Index)
	}
	if a.Array != nil {
		s.foreign = true
		s.inner(a.Array)
	}
}

// keep puts assignments into the state and judges the variables they set.
func (s shell) keep(assigns []*syntax.Assign) {
	for _, a := range assigns {
		if a.Name == nil {
			continue
		}
		name, val := a.Name.Value, anything
		if a.Array == nil && a.Index == nil {
			val = field{text: s.text(a.Value).text}
			if old, ok := s.get(name); a.Append && ok {
				val.text = old.text + val.text
			} else if a.Append {
				val = anything
			}
		}
		s.variableSet(&call{st: s.state, words: []field{{text: name + "=" + val.text}}}, name, val.text)
		if subscript.MatchString(val.text) {
			s.note(Asks, inSubscript, s.whole())
		}
		s.set(name, val)
	}
}

// assigned writes assignments as words, for a key.
func (s shell) assigned(assigns []*syntax.Assign) (out []field) {
	for _, a := range assigns {
		if a.Name == nil || a.Array != nil || a.Index != nil {
			out = append(out, field{text: unknown})
			continue
		}
		out = append(out, field{text: a.Name.Value + "=" + s.text(a.Value).text})
	}
	return out
}

// declare judges export, declare, local, readonly and typeset.
func (s shell) declare(c *syntax.DeclClause) {
	word := c.Variant.Value
	s.foreign = s.foreign || word != "export"
	for _, a := range c.Args {
		s.assign(a)
		if !a.Naked {
			s.keep([]*syntax.Assign{a})
			continue
		}
		f := s.text(a.Value)
		if a.Name != nil {
			f.text = a.Name.Value
		}
		cc := &call{st: s.state, words: []field{{text: word}, f}}
		switch {
		case strings.Contains(f.text, unknown):
			s.ask(cc, "sets variables that cannot be seen")
		case f.option() && strings.Contains(f.text, "f") && word == "export":
			s.ask(cc, "exports a function, which can take the place of a program")
		case f.option() && strings.Contains(f.text, "n"):
			s.forget() // a name for another variable
		}
	}
}

// subscript is a text that the shell takes for an element of an array: if it calculates with
// it, it runs the substitution, as in a[$(…)].
var subscript = lazyregexp.New("^[\\w\\s=+*/%(<>&|!?:,-]*\\w\\[[^\\]]*(\\$\\(|`)")

const inSubscript = "hides a command in the subscript of an array"

// subscripts asks about commands that hide in quoted texts of that form.
func (r *report) subscripts(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		text := ""
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if text = n.Value; n.Dollar {
				text = code.Unescape(text)
			}
		case *syntax.DblQuoted:
			if len(n.Parts) == 1 {
				if lit, ok := n.Parts[0].(*syntax.Lit); ok {
					text, _ = unbackslash(lit.Value, quotedEscapes)
				}
			}
		}
		if subscript.MatchString(text) {
			r.note(Asks, inSubscript, r.whole())
		}
		return true
	})
}
