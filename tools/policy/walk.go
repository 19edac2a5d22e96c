package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// analyzer walks one command and all its parts, and collects their effects.
type analyzer struct {
	scope        Scope
	src          string // the whole source
	findings     []finding
	commands     []string
	environments *environments
	rememberAs   string // when set, the key of all findings
	wholeKey     string // of the whole source, once it was needed

	funcs   map[string][]*syntax.Stmt // every definition met
	used    map[*syntax.Stmt]bool     // bodies that were called
	aliases map[string]bool
	frames  []frame // functions being called

	running []string // code being judged within code

	budget              // of the line
	recipeBudget budget // of recipes of Makefiles and of package.json
	recipeDepth  int
	judged       map[string]bool              // recipes that were judged
	makefiles    map[string]*makefile         // by text
	manifests    map[string]map[string]string // scripts of package.json, by text
	depth        int                          // nesting of statements and of code within code
	forks        int                          // pipelines and background jobs around the current statement
	substDepth   int
	stdin        input
	elsewhere    bool             // the command runs in a container or on another machine
	files        map[string]input // texts that the command itself has written into files, by their paths

	runFiles   []string            // files whose content the command runs
	keyFiles   map[string][]string // the same by the key of the command that runs them, those that cannot be named too
	made       []copied            // files that the command makes of others
	substFiles []string            // files that substitutions read
	opens      []string            // protected places that the command itself writes
	gitMoves   []string            // those that git itself moves or removes
	settings   []string            // git settings that the command makes
	rewrites   bool                // files change that are not named
	foreign    bool                // a program runs code that is not known
	hooked     bool                // git runs hooks, which the user has put there
}

// budget is how much was judged.
type budget struct {
	steps  int  // statements looked at
	work   int  // bytes that words became, about
	gaveUp bool // it was too much
}

type frame struct {
	body  *syntax.Stmt
	forks int
}

const (
	maxSteps = 10000
	maxCwds  = 32 // folders that a command may be in, before that is unknown
	maxWork  = 8 << 20
	maxDepth = 100
	maxNest  = 400 // brackets open at once, before parsing
)

func newAnalyzer(src string, p Scope) *analyzer {
	return &analyzer{scope: p, src: src, environments: new(environments)}
}

func (j *analyzer) start() *state {
	cwd := j.scope.Cwd
	if cwd == "" {
		cwd = unknown
	}
	return &state{cwds: []string{cwd}}
}

// source judges shell code. outer is the command that runs it, nil for the
// whole command.
func (j *analyzer) source(src string, st *state, outer *call) {
	c := outer
	if c == nil {
		c = &call{st: st}
	}
	if refusal := unfit(src); refusal != "" {
		j.refuse(c, refusal)
		return
	}
	if outer == nil {
		if why := disguised(src); why != "" {
			j.note(Asks, why, Escape(j.src))
		}
	}
	if !j.enter() {
		return
	}
	defer j.leave()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		j.refuse(c, unparsed+" as a shell command: "+position(err))
		return
	}
	j.subscripts(file)
	began := st.clone()
	j.stmts(file.Stmts, st)
	if outer == nil {
		j.uncalled(st)
		j.ranRead(file, began)
	}
}

// position writes the error of the parser, with the position.
func position(err error) string {
	var at syntax.ParseError
	if errors.As(err, &at) {
		return fmt.Sprintf("line %d, column %d: %s", at.Pos.Line(), at.Pos.Col(), Escape(at.Text))
	}
	return Escape(err.Error())
}

// place writes the position of the first text in a source.
func place(src, text string) string {
	before, _, _ := strings.Cut(src, text)
	return fmt.Sprintf("line %d, column %d: ", 1+strings.Count(before, "\n"), len(before)-strings.LastIndexByte(before, '\n'))
}

// unfit says why a source is not even parsed; empty when it may be.
func unfit(src string) string {
	switch {
	case len(src) > maxSource:
		return "is longer than 64 KB, too long to be judged; put it into a script file"
	case strings.Contains(src, "\x00"):
		return unparsed + ": " + place(src, "\x00") + "a NUL byte"
	case strings.Contains(src, "\r"):
		return unparsed + ": " + place(src, "\r") + "a carriage return; end lines with a line feed alone"
	}
	open := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '(', '{':
			if open++; open > maxNest {
				return unparsed + ": it is nested too deeply"
			}
		case ')', '}':
			open = max(0, open-1)
		}
	}
	return ""
}

// uncalled judges the functions that were only declared: something may call
// them that was not seen.
func (j *analyzer) uncalled(st *state) {
	for _, bodies := range j.funcs {
		for _, body := range bodies {
			if !j.used[body] {
				inner := st.clone()
				inner.args, inner.argsKnown = nil, false
				j.stmt(body, inner)
			}
		}
	}
}

// enter counts one more level of nesting; false when there are too many.
func (j *analyzer) enter() bool {
	if j.depth >= maxDepth {
		j.note(Asks, "is nested too deeply to be judged", Escape(j.src))
		return false
	}
	j.depth++
	return true
}

func (j *analyzer) leave() { j.depth-- }

func (j *analyzer) stmts(list []*syntax.Stmt, st *state) {
	for _, s := range list {
		j.stmt(s, st)
	}
}

// aside judges statements whose changes of state are lost, as in a subshell.
func (j *analyzer) aside(list []*syntax.Stmt, st *state) { j.stmts(list, st.clone()) }

func (j *analyzer) stmt(s *syntax.Stmt, st *state) {
	if s == nil || !j.enter() {
		return
	}
	defer j.leave()
	if j.spent() {
		return
	}
	if s.Background || s.Coprocess || s.Disown {
		st = st.clone()
		j.forks++
		defer func() { j.forks-- }()
	}
	if len(s.Redirs) > 0 {
		stdin := j.stdin
		defer func() { j.stdin = stdin }()
		for _, r := range s.Redirs {
			j.stdin = j.redirect(s, r, st)
		}
	}
	j.command(s, st)
}

// spent counts one more step and tells whether there were too many; then the
// whole asks.
func (j *analyzer) spent() bool {
	if j.steps++; j.steps <= maxSteps && j.work <= maxWork {
		return false
	}
	if !j.gaveUp {
		j.gaveUp = true
		j.note(Asks, "is too long to be judged", j.whole())
	}
	return true
}

func (j *analyzer) command(s *syntax.Stmt, st *state) {
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		j.simple(c, st)
	case *syntax.DeclClause:
		j.declare(c, st)
	case *syntax.BinaryCmd:
		j.binary(c, st)
	case *syntax.Block:
		j.stmts(c.Stmts, st)
	case *syntax.Subshell:
		j.aside(c.Stmts, st)
	case *syntax.IfClause:
		j.conditional(c, st)
	case *syntax.WhileClause:
		j.loop(st, func(st *state) {
			j.stmts(c.Cond, st)
			j.stmts(c.Do, st)
		})
	case *syntax.ForClause:
		j.forLoop(c, st)
	case *syntax.CaseClause:
		j.cases(c, st)
	case *syntax.FuncDecl:
		j.function(c)
	case *syntax.TimeClause:
		j.stmt(c.Stmt, st)
	case *syntax.CoprocClause:
		stdin := j.stdin
		j.stdin = input{some: true}
		j.forks++
		j.stmt(c.Stmt, st.clone())
		j.forks--
		j.stdin = stdin
	case *syntax.ArithmCmd, *syntax.LetClause:
		j.foreign = true // it may run what is in a subscript
		j.inner(st, c)
		st.forget() // it may assign
	default:
		j.foreign = true // a test calculates, too
		j.inner(st, c)
	}
}

// inner judges the substitutions within the words of a node.
func (j *analyzer) inner(st *state, n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			j.substitutes(st, n)
			j.aside(n.Stmts, st)
			return false
		case *syntax.ProcSubst:
			j.substitutes(st, n)
			stdin := j.stdin
			if n.Op == syntax.CmdOut && !stdin.known {
				j.stdin = input{some: true}
			}
			j.forks++
			j.aside(n.Stmts, st)
			j.forks--
			j.stdin = stdin
			return false
		case *syntax.ParamExp:
			j.expansion(st, n)
			j.foreign = j.foreign || n.Slice != nil || n.Index != nil || n.Excl
			if n.Slice != nil {
				j.counted(st, n.Slice.Offset)
				j.counted(st, n.Slice.Length)
			}
			j.counted(st, n.Index)
		case *syntax.ArithmExp:
			j.foreign = true
			j.counted(st, n.X)
		case *syntax.ArithmCmd:
			j.counted(st, n.X)
		}
		return true
	})
}

// expansion judges the side effects of an expansion.
func (j *analyzer) expansion(st *state, p *syntax.ParamExp) {
	if p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		if p.Exp.Word != nil && p.Exp.Word.Lit() == "P" {
			j.note(Asks, "expands a variable as a prompt, which can run commands", j.whole())
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if p.Param != nil {
			st.set(p.Param.Value, anything)
		}
	}
}

// words judges the substitutions within words.
func (j *analyzer) words(st *state, words ...*syntax.Word) {
	for _, w := range words {
		if w == nil {
			continue
		}
		for _, p := range w.Parts {
			switch p.(type) {
			case *syntax.Lit, *syntax.SglQuoted:
			default:
				j.inner(st, p)
			}
		}
	}
}

func (j *analyzer) conditional(c *syntax.IfClause, st *state) {
	if len(c.Cond) == 0 { // else
		j.stmts(c.Then, st)
		return
	}
	j.stmts(c.Cond, st)
	base, other := st.clone(), st.clone()
	j.stmts(c.Then, st)
	if c.Else != nil {
		j.conditional(c.Else, other)
	}
	switch {
	case ends(c.Then):
		*st = *other
	case c.Else == nil || !ends(c.Else.Then):
		*st = *join(base, st, other)
	}
}

// ends tells whether a list of statements leaves the script or the loop.
func ends(list []*syntax.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch c := list[len(list)-1].Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return false
		}
		switch c.Args[0].Lit() {
		case "exit", "return", "continue", "break":
			return true
		}
	case *syntax.Block:
		return ends(c.Stmts)
	}
	return false
}

// loop judges a body that may run never, once, or again after itself.
func (j *analyzer) loop(st *state, body func(*state)) {
	base, after := st.clone(), st.clone()
	body(after)
	if after.vars != base.vars || !slices.Equal(after.cwds, base.cwds) {
		again := join(base, base.clone(), after)
		body(again)
		after = join(base, after, again)
	}
	*st = *join(base, base.clone(), after)
}

func (j *analyzer) forLoop(c *syntax.ForClause, st *state) {
	var name string
	var vals []value
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		name = l.Name.Value
		j.sets(name, unknown)
		j.words(st, l.Items...)
		vals = j.items(st, l)
	default:
		j.inner(st, l)
		st.forget()
	}
	j.loop(st, func(st *state) {
		if name != "" {
			st.set(name, vals)
		}
		j.stmts(c.Do, st)
	})
}

// items returns the values that a loop variable takes.
func (j *analyzer) items(st *state, l *syntax.WordIter) []value {
	var vals []value
	if !l.InPos.IsValid() {
		if !st.argsKnown {
			return anything
		}
		for _, a := range st.args {
			vals = append(vals, value{a.text, a.glob})
		}
		return vals
	}
	j.eachEnvironment(func() {
		for _, f := range j.expand(st, l.Items) {
			vals = union(vals, []value{{f.text, f.glob}})
		}
	})
	if len(vals) == 0 {
		return []value{{}}
	}
	return vals
}

func (j *analyzer) cases(c *syntax.CaseClause, st *state) {
	j.words(st, c.Word)
	base, out := st.clone(), st.clone()
	for _, item := range c.Items {
		j.words(st, item.Patterns...)
		branch := base.clone()
		j.stmts(item.Stmts, branch)
		if !ends(item.Stmts) {
			out = join(base, out, branch)
		}
	}
	*st = *out
}

func (j *analyzer) function(c *syntax.FuncDecl) {
	if j.funcs == nil {
		j.funcs, j.used = map[string][]*syntax.Stmt{}, map[*syntax.Stmt]bool{}
	}
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	j.foreign = true // it may take the place of a program
	for _, n := range names {
		j.funcs[n.Value] = append(j.funcs[n.Value], c.Body)
	}
}

// callFunction judges the bodies of a function with its arguments in place.
func (j *analyzer) callFunction(c *call, bodies []*syntax.Stmt) {
	for _, body := range bodies {
		j.used[body] = true
		for _, f := range j.frames {
			if f.body == body && j.forks > f.forks {
				j.refuse(c, "is a fork bomb: a function that starts itself over and over")
			}
		}
		if slices.ContainsFunc(j.frames, func(f frame) bool { return f.body == body }) {
			continue
		}
		j.frames = append(j.frames, frame{body, j.forks})
		args, known := c.st.args, c.st.argsKnown
		c.st.args, c.st.argsKnown = c.args, !slices.ContainsFunc(c.args, func(f field) bool { return strings.Contains(f.text, unknown) })
		saved := j.environments
		j.environments = new(environments)
		j.stmt(body, c.st)
		j.environments = saved
		c.st.args, c.st.argsKnown = args, known
		j.frames = j.frames[:len(j.frames)-1]
	}
}

func (j *analyzer) binary(c *syntax.BinaryCmd, st *state) {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		j.forks++
		j.stmt(c.X, st.clone())
		stdin := j.stdin
		j.stdin = j.producer(c.X, st)
		j.stmt(c.Y, st.clone())
		j.stdin = stdin
		j.forks--
	case syntax.AndStmt:
		j.chain(andChain(c), st)
	default:
		before := st.clone()
		j.stmt(c.X, st)
		failed := before.clone()
		j.stmt(c.Y, failed)
		if !ends([]*syntax.Stmt{c.Y}) {
			*st = *join(before, st, failed)
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
// run. After it, the chain may have ended at any of them.
func (j *analyzer) chain(list []*syntax.Stmt, st *state) {
	var broken *state
	for i, s := range list {
		if broken == nil && i > 0 && !succeeds(list[i-1]) {
			broken = st.clone()
		}
		j.stmt(s, st)
	}
	if broken != nil {
		*st = *join(broken, broken.clone(), st)
	}
}

// succeeds tells whether a statement cannot fail: it only assigns.
func succeeds(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(c.Args) == 0
}

// eachEnvironment runs do once for every combination of the values of the variables
// that do expands.
func (j *analyzer) eachEnvironment(do func()) {
	saved := j.environments
	defer func() { j.environments = saved }()
	j.environments = new(environments)
	for n := 0; ; n++ {
		if n == maxEnvironments || j.work > maxWork {
			j.environments = &environments{blur: true}
			do()
			return
		}
		do()
		if !j.environments.next() {
			return
		}
	}
}
