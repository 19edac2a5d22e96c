package policy

import (
	"slices"
	"strings"

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
	defer func() { s.stdin = stdin }()
	for _, r := range stmt.Redirs {
		s.stdin = s.redirect(stmt, r)
	}
	s.command(stmt.Cmd)
}

func (s shell) command(cmd syntax.Command) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		s.simple(c)
	case *syntax.DeclClause:
		s.declare(c)
	case *syntax.BinaryCmd:
		s.binary(c)
	case *syntax.Block:
		s.stmts(c.Stmts)
	case *syntax.Subshell:
		s.fork().stmts(c.Stmts)
	case *syntax.IfClause:
		s.conditional(c)
	case *syntax.WhileClause:
		s.loop(func(s shell) {
			s.stmts(c.Cond)
			s.stmts(c.Do)
		})
	case *syntax.ForClause:
		s.forLoop(c)
	case *syntax.CaseClause:
		s.cases(c)
	case *syntax.FuncDecl:
		s.foreign = true // it may take the place of a program
		for _, n := range append(c.Names, c.Name) {
			if n != nil {
				s.funcs[n.Value] = append(s.funcs[n.Value], c.Body)
			}
		}
	case *syntax.TimeClause:
		s.stmt(c.Stmt)
	case *syntax.CoprocClause:
		s.beside(input{some: true}, []*syntax.Stmt{c.Stmt})
	default:
		s.foreign = true // it may run what is in a subscript; a test calculates, too
		s.inner(c)
		switch c.(type) {
		case *syntax.ArithmCmd, *syntax.LetClause:
			s.forget() // it may assign
		}
	}
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
			s.substitutes(s.sources(n))
			s.fork().stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			s.substitutes(s.sources(n))
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

func (s shell) conditional(c *syntax.IfClause) {
	if len(c.Cond) == 0 { // else
		s.stmts(c.Then)
		return
	}
	s.stmts(c.Cond)
	base, other := s.clone(), s.fork()
	s.stmts(c.Then)
	if c.Else != nil {
		other.conditional(c.Else)
	}
	switch {
	case ends(c.Then):
		*s.state = *other.state
	case c.Else == nil || !ends(c.Else.Then):
		*s.state = *join(base, s.state, other.state)
	}
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

// loop judges a body that may run never, once, or again after itself.
func (s shell) loop(body func(shell)) {
	base, after := s.clone(), s.fork()
	body(after)
	if after.vars != base.vars || !slices.Equal(after.cwds, base.cwds) {
		again := shell{s.analyzer, join(base, base.clone(), after.state)}
		body(again)
		after.state = join(base, after.state, again.state)
	}
	*s.state = *join(base, base.clone(), after.state)
}

func (s shell) forLoop(c *syntax.ForClause) {
	var name string
	var vals []value
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		name = l.Name.Value
		s.sets(name, unknown)
		s.words(l.Items...)
		vals = s.items(l)
	default:
		s.inner(l)
		s.forget()
	}
	s.loop(func(s shell) {
		if name != "" {
			s.set(name, vals)
		}
		s.stmts(c.Do)
	})
}

// items returns the values that a loop variable takes.
func (s shell) items(l *syntax.WordIter) (vals []value) {
	if !l.InPos.IsValid() {
		if !s.argsKnown {
			return anything
		}
		for _, a := range s.args {
			vals = append(vals, value{a.text, a.glob})
		}
		return vals
	}
	s.eachEnvironment(func() {
		for _, f := range s.expand(l.Items) {
			vals = union(vals, []value{{f.text, f.glob}})
		}
	})
	if len(vals) == 0 {
		return []value{{}}
	}
	return vals
}

func (s shell) cases(c *syntax.CaseClause) {
	s.words(c.Word)
	base, out := s.clone(), s.clone()
	for _, item := range c.Items {
		s.words(item.Patterns...)
		branch := shell{s.analyzer, base.clone()}
		branch.stmts(item.Stmts)
		if !ends(item.Stmts) {
			out = join(base, out, branch.state)
		}
	}
	*s.state = *out
}

func (s shell) binary(c *syntax.BinaryCmd) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		s.forks++
		s.fork().stmt(c.X)
		s.beside(s.producer(c.X), []*syntax.Stmt{c.Y})
		s.forks--
	case syntax.AndStmt:
		s.chain(andChain(c))
	default:
		before := s.clone()
		s.stmt(c.X)
		failed := shell{s.analyzer, before.clone()}
		failed.stmt(c.Y)
		if !ends([]*syntax.Stmt{c.Y}) {
			*s.state = *join(before, s.state, failed.state)
		}
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
// run. After it, the chain may have ended at any of them. An assignment cannot fail.
func (s shell) chain(list []*syntax.Stmt) {
	var broken *state
	for i, stmt := range list {
		if broken == nil && i > 0 {
			if c, ok := list[i-1].Cmd.(*syntax.CallExpr); !ok || len(c.Args) > 0 {
				broken = s.clone()
			}
		}
		s.stmt(stmt)
	}
	if broken != nil {
		*s.state = *join(broken, broken.clone(), s.state)
	}
}

// eachEnvironment runs do once for every combination of the values of the variables
// that do expands.
func (s shell) eachEnvironment(do func()) {
	saved := s.environments
	defer func() { s.environments = saved }()
	s.environments = new(environments)
	for n := 0; ; n++ {
		if n == maxEnvironments || s.work > maxWork {
			s.environments = &environments{blur: true}
		}
		if do(); s.environments.blur || !s.environments.next() {
			return
		}
	}
}

// simple judges assignments, or a command with those before it.
func (s shell) simple(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		s.assign(a)
	}
	if len(c.Args) == 0 {
		s.keep(c.Assigns)
		return
	}
	s.words(c.Args...)
	before, after := s.cwds, []string(nil)
	s.eachEnvironment(func() {
		s.cwds = before
		defer func() { after = union(after, s.cwds) }()
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
	s.cwds = after
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
		name, vals := a.Name.Value, anything
		if a.Array == nil && a.Index == nil {
			if vals = s.values(a.Value); a.Append {
				old, ok := s.get(name)
				if !ok || len(old) != 1 || len(vals) != 1 {
					vals = anything
				} else {
					vals = []value{{text: old[0].text + vals[0].text}}
				}
			}
		}
		for _, v := range vals {
			s.variableSet(&call{st: s.state, words: []field{{text: name + "=" + v.text}}}, name, v.text)
			if subscript().MatchString(v.text) {
				s.note(Asks, inSubscript, s.whole())
			}
		}
		s.set(name, vals)
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
var subscript = lazily("^[\\w\\s=+*/%(<>&|!?:,-]*\\w\\[[^\\]]*(\\$\\(|`)")

const inSubscript = "hides a command in the subscript of an array"

// subscripts asks about commands that hide in quoted texts of that form.
func (r *report) subscripts(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		text := ""
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if text = n.Value; n.Dollar {
				text = ansiC(text)
			}
		case *syntax.DblQuoted:
			if len(n.Parts) == 1 {
				if lit, ok := n.Parts[0].(*syntax.Lit); ok {
					text, _ = unbackslash(lit.Value, quotedEscapes)
				}
			}
		}
		if subscript().MatchString(text) {
			r.note(Asks, inSubscript, r.whole())
		}
		return true
	})
}
