package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"mvdan.cc/sh/v3/syntax"
)

// shell evaluates statements of the shell. Its methods change the state.
type shell struct {
	*analyzer
	*state
}

// fork returns a shell with a state of its own, as of a subshell or a branch.
func (s shell) fork() shell { return shell{s.analyzer, s.clone()} }

func (s shell) stmts(list []*syntax.Stmt) {
	for _, stmt := range list {
		s.stmt(stmt)
	}
}

// branch evaluates statements on a copy of the state. It returns the state after them; none,
// if they leave the script or the loop.
func (s shell) branch(list ...*syntax.Stmt) []*state {
	f := s.fork()
	if f.stmts(list); ends(list) {
		return nil
	}
	return []*state{f.state}
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
		s.conditional(c)
	case *syntax.WhileClause:
		s.loop([]field{{}, {}}, func(field) {
			s.stmts(c.Cond)
			s.stmts(c.Do)
		})
	case *syntax.ForClause:
		s.forLoop(c)
	case *syntax.CaseClause:
		s.words(c.Word)
		after := []*state{s.clone()}
		for _, item := range c.Items {
			s.words(item.Patterns...)
			after = append(after, s.branch(item.Stmts...)...)
		}
		s.join(after...)
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
	default:
		s.inner(c)
		switch c.(type) {
		case *syntax.ArithmCmd, *syntax.LetClause:
			s.forget() // it may assign
		}
	}
}

// beside evaluates statements in a process of their own, which others run beside.
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
			if n.Op == syntax.CmdOut && !stdin.known {
				stdin = input{some: true}
			}
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

// words judges the substitutions within words.
func (s shell) words(words ...*syntax.Word) {
	for _, w := range words {
		if w != nil {
			s.inner(w)
		}
	}
}

func (s shell) conditional(c *syntax.IfClause) {
	s.stmts(c.Cond) // none of an else
	after := s.branch(c.Then...)
	switch other := s.fork(); {
	case c.Else == nil:
		after = append(after, other.state)
	case len(c.Else.Cond) > 0:
		other.conditional(c.Else)
		after = append(after, other.state)
	default:
		after = append(after, s.branch(c.Else.Then...)...)
	}
	s.join(after...)
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
func (s shell) loop(items []field, body func(field)) {
	outer := max(1, s.unrolled)
	if len(items)*outer > maxItems {
		items = []field{anything, anything}
	}
	s.unrolled = len(items) * outer
	after := []*state{s.clone()}
	for _, item := range items {
		body(item)
		after = append(after, s.clone())
	}
	s.unrolled = outer
	s.join(after...)
}

func (s shell) forLoop(c *syntax.ForClause) {
	l, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		s.inner(c.Loop)
		s.forget()
		s.loop([]field{{}, {}}, func(field) { s.stmts(c.Do) })
		return
	}
	name := l.Name.Value
	s.sets(name, unknown)
	s.words(l.Items...)
	items := s.args
	switch {
	case l.InPos.IsValid():
		items = s.expand(l.Items)
	case items == nil:
		items = []field{anything}
	}
	if len(items) == 0 {
		items = []field{{}}
	}
	if slices.ContainsFunc(items, func(f field) bool { return !f.seen() }) { // it may stand for several
		items = append(slices.Clip(items), items...)
	}
	s.loop(items, func(item field) {
		s.set(name, item)
		s.stmts(c.Do)
	})
	s.set(name, anything)
}

func (s shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.forks++
		s.fork().stmt(c.X)
		s.beside(s.producer(c.X), c.Y)
		s.forks--
	case syntax.AndStmt:
		s.chain(andChain(c))
	default:
		failed := s.fork()
		s.stmt(c.X)
		s.join(append(failed.branch(c.Y), s.clone())...)
	}
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
func (s shell) chain(list []*syntax.Stmt) {
	var after []*state
	for i, stmt := range list {
		s.stmt(stmt)
		if c, ok := stmt.Cmd.(*syntax.CallExpr); after == nil && i < len(list)-1 && (!ok || len(c.Args) > 0) {
			after = append(after, s.clone())
		}
	}
	s.join(append(after, s.clone())...)
}

// simple judges assignments, or a command with those before it.
func (s shell) simple(c *syntax.CallExpr) {
	s.inner(c)
	assigns, args := s.assigned(c.Assigns), s.expand(c.Args)
	words := append(slices.Clip(assigns), args...)
	for _, a := range assigns {
		name, val, _ := strings.Cut(a.text, "=")
		if s.sets(name, val); len(c.Args) == 0 {
			s.assign(s.state, a)
		} else {
			s.variableSet(&call{words: words, st: s.state}, name, val)
		}
	}
	if len(args) > 0 { // the program may be empty: "$x" that is nothing
		s.call(&call{args: args, words: words, st: s.state})
	}
}

// assign sets a variable of the shell to a value: NAME=VALUE.
func (j *analyzer) assign(st *state, a field) {
	name, val, _ := strings.Cut(a.text, "=")
	j.variableSet(&call{st: st, words: []field{a}}, name, val)
	if subscript.MatchString(val) {
		j.note(Asks, inSubscript, j.whole())
	}
	st.set(name, field{text: val})
}

// assigned returns assignments as words.
func (s shell) assigned(assigns []*syntax.Assign) (out []field) {
	for _, a := range assigns {
		f := s.text(a.Value)
		switch {
		case a.Naked && a.Name != nil:
			f.text = a.Name.Value
		case !a.Naked:
			val := f.text
			if list := s.get(a.Name.Value); a.Append && len(list) > 0 {
				val = s.one(list).text + val
			} else if a.Append {
				val = unknown
			}
			if a.Array != nil || a.Index != nil {
				val = unknown
			}
			f = field{text: a.Name.Value + "=" + val}
		}
		out = append(out, f)
	}
	return out
}

// subscript is a text that the shell takes for an element of an array: if it calculates with
// it, it runs the substitution, as in a[$(…)].
var subscript = lazyregexp.New("^[\\w\\s=+*/%(<>&|!?:,-]*\\w\\[[^\\]]*(\\$\\(|`)")

const inSubscript = "hides a command in the subscript of an array"

// look judges the syntax of code: commands that hide in quoted texts of that form, and syntax that may
// run or replace a program in ways that are not followed.
func (j *analyzer) look(file *syntax.File) {
	quoted := func(text string) {
		if subscript.MatchString(text) {
			j.note(Asks, inSubscript, j.whole())
		}
	}
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
			if quoted(n.Value); n.Dollar {
				quoted(code.Unescape(n.Value))
			}
		case *syntax.DblQuoted:
			if len(n.Parts) == 1 {
				if lit, ok := n.Parts[0].(*syntax.Lit); ok {
					text, _ := unbackslash(lit.Value, quotedEscapes)
					quoted(text)
				}
			}
		}
		return true
	})
}
