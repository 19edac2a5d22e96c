package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
	"mvdan.cc/sh/v3/syntax"
)

// analyzer judges a command with everything it runs, and collects the effects.
type analyzer struct {
	tracks
	funcs  map[string][]*syntax.Stmt // every definition met
	called map[*syntax.Stmt]int      // called bodies: the forks around the call, or ended

	running []string // code being judged within code
	actions map[string]func(*terms, field)

	*budget    // of the line, or of its recipes
	recipes    recipes
	depth      int // nesting of statements and of code within code
	forks      int // pipelines and background jobs around the current statement
	pick, most int // index of the value that [shell.each] judges now, and the number of values
}

// budget is how much was judged.
type budget struct {
	steps  int  // number of statements judged
	work   int  // approximate bytes of the expanded words
	gaveUp bool // it was too much
}

const (
	ended    = -1
	maxSteps = 10000
	maxWork  = 8 << 20
	maxDepth = 100
	maxNest  = 400 // brackets open at once, before parsing
)

func newAnalyzer(src string, p Scope) *analyzer {
	j := &analyzer{actions: actions(), budget: &budget{}, funcs: map[string][]*syntax.Stmt{}, called: map[*syntax.Stmt]int{}}
	j.scope, j.src, j.written, j.fetched, j.keyFiles = p, src, map[string]input{}, map[string]bool{}, map[string][]string{}
	j.recipes = recipes{files: map[string]*code.Recipes{}, judged: map[string]bool{}}
	return j
}

// line judges the whole command.
func (j *analyzer) line(st *state) {
	if why := escape.HiddenPart(j.src); why != "" {
		j.note(Asks, why, escape.Line(j.src))
	}
	began := st.clone()
	j.source(j.src, st, &call{st: st})
	for _, bodies := range j.funcs { // unseen code may call functions that were only declared
		for _, body := range bodies {
			if _, called := j.called[body]; !called {
				inner := shell{j, st.clone()}
				inner.args = nil
				inner.stmt(body)
			}
		}
	}
	if slices.ContainsFunc(j.findings, func(f finding) bool { return strings.HasPrefix(f.reason, "runs ") }) {
		// Unknown text runs: it may come from files that the line reads or copies.
		j.ranFiles(&call{st: began}, j.sources...)
	}
}

// source judges shell code run by a command. Each finding has its own key. If another program runs
// the command, such as sudo, all findings have the key of that program's command.
func (j *analyzer) source(src string, st *state, c *call) {
	if refusal := unfit(src); refusal != "" {
		j.block(c, refusal)
		return
	}
	if slices.Contains(j.running, src) || !j.enter() { // recursive code is judged once
		return
	}
	defer j.leave()
	defer j.wrapped(c)()
	file, err := parseShell(src)
	if err != nil {
		at := escape.Line(err.Error())
		if e := new(syntax.ParseError); errors.As(err, e) {
			at = fmt.Sprintf("line %d, column %d: %s", e.Pos.Line(), e.Pos.Col(), escape.Line(e.Text))
		}
		j.block(c, unparsed+" as a shell command: "+at)
		return
	}
	j.running = append(j.running, src)
	j.look(file)
	shell{j, st}.stmts(file.Stmts)
	j.running = j.running[:len(j.running)-1]
}

func parseShell(src string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
}

// unfit returns why a source is not parsed, or "".
func unfit(src string) string {
	if len(src) > maxSource {
		return "is longer than 64 KB, too long to be judged; put it into a script file"
	}
	for char, why := range map[string]string{"\x00": "a NUL byte", "\r": "a carriage return; end lines with a line feed alone"} {
		if before, _, found := strings.Cut(src, char); found {
			return fmt.Sprintf("%s: line %d, column %d: %s", unparsed, 1+strings.Count(before, "\n"), len(before)-strings.LastIndexByte(before, '\n'), why)
		}
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

// enter counts another step and level of nesting. If a limit is exceeded, it returns false.
func (j *analyzer) enter() bool {
	if j.depth >= maxDepth {
		j.note(Asks, "is nested too deeply to be judged", escape.Line(j.src))
		return false
	}
	if j.spent() {
		return false
	}
	j.depth++
	return true
}

func (j *analyzer) leave() { j.depth-- }

// spent counts another step and reports whether a limit is exceeded; then the whole line requires
// approval.
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

// code judges the text of an argument as shell code for a separate shell.
func (j *analyzer) code(c *call, f field) {
	st := &state{cwd: c.st.cwd}
	if len(c.st.vars) > 1 { // not only the folder
		st.forget()
	}
	j.eval(c, f, st)
}

// eval judges a text as shell code in a state.
func (j *analyzer) eval(c *call, f field, st *state) {
	hidden := strings.ContainsAny(f.text, unknown+fresh)
	if hidden {
		j.ranFiles(c, j.sources...)
		j.foreign = true
		j.ask(c, "runs shell code that cannot be seen")
	}
	text := strings.NewReplacer(unknown, "${__unseen}", fresh, "${__unseen}", number, "0").Replace(f.text)
	if j.source(text, st, c); hidden {
		st.forget()
	}
}

// wrapped gives all findings the key of the outer command, if another program runs c, until end is
// called.
func (j *analyzer) wrapped(c *call) (end func()) {
	before := j.rememberAs
	if before == "" && len(c.words) > 0 && programName(c.words[0].text) != c.name {
		j.rememberAs = j.key(c)
	}
	return func() { j.rememberAs = before }
}

// callFunction judges the bodies of a function with its arguments in place.
func callFunction(j *analyzer, c *call, bodies []*syntax.Stmt) {
	for _, body := range bodies {
		if forks, called := j.called[body]; called && forks != ended {
			if j.forks > forks {
				j.block(c, "is a fork bomb: a function that starts itself over and over")
			}
			continue
		}
		j.called[body] = j.forks
		outer := c.st.args
		c.st.setArgs(c.args)
		shell{j, c.st}.stmt(body)
		c.st.args = outer
		j.called[body] = ended
	}
}

// call judges a program with its arguments; the first is the program.
func (j *analyzer) call(c *call) {
	if len(c.args) == 0 || !j.enter() {
		return
	}
	defer j.leave()
	program := c.args[0]
	c.name = programName(program.text)
	if program.dyn || c.name == "" || paths.Marked(c.name) {
		j.ask(c, "runs a program that is a variable or a substitution")
		if program.text == unknown {
			j.call(c.with(c.args[1:])) // it may be empty
			return
		}
	} else if program.glob && program.text != "[" {
		j.ask(c, "runs a program that is a pattern")
	}
	if strings.ContainsFunc(c.name, func(r rune) bool { return r > 0x7F }) {
		j.ask(c, "runs a program whose name has characters that look like others")
	}
	j.record(c)
	j.knows(c)
	c.args = c.args[1:]
	if rules.In("passes-on", c.name) {
		j.reads(c.st, c.args...)
	}
	if strings.HasPrefix(program.text, "/etc/init.d/") {
		c.name = "service"
	}
	if strings.Contains(program.text, "/") {
		runsMade(j, c, program)
		j.ran(c, program.text)
	}
	j.rewrites = j.rewrites || contains("patch tar bsdtar unzip 7z rsync cpio", c.name)
	if bodies := j.funcs[program.text]; bodies != nil {
		callFunction(j, c, bodies)
	}
	judge(j, c)
}

// runsMade judges running a file created by the command itself, and reports whether it is such a
// file.
func runsMade(j *analyzer, c *call, f field) bool {
	name := absolute(c.st, f.text)
	made := j.made(name)
	if !made.some || f.open() || name == "" {
		return false
	}
	inner := *c
	inner.name = interpreterOf(c.name, name, made.text)
	switch {
	case made.how != "":
		j.note(Asks, made.how, j.whole())
	case contains("source .", inner.name), strings.HasSuffix(inner.name, "sh"):
		j.shellFile(c, made.text)
	default:
		read(j, &inner, made.text)
	}
	return true
}

// shebang is the line of a script that names its program.
var shebang = lazyregexp.New(`^#![ \t]*(?:\S*env[ \t]+)?(\S+)`)

// interpreterOf returns the interpreter of a file: program if it is a shell; otherwise the program
// in the shebang line; otherwise program. If the file is executed directly, the default is a shell.
func interpreterOf(program, file, text string) string {
	itself := program == programName(file)
	if !itself && (strings.HasSuffix(program, "sh") || contains("source .", program)) {
		return program
	}
	if m := shebang.FindStringSubmatch(text); m != nil {
		return programName(m[1])
	}
	if itself {
		return "sh"
	}
	return program
}

// shellFile judges the text of a script. A script with a syntax error is not blocked: it may be for
// another shell.
func (j *analyzer) shellFile(c *call, text string) {
	if _, err := parseShell(text); err == nil {
		j.code(c, field{text: text})
	}
}
