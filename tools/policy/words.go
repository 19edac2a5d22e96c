package policy

import (
	"cmp"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// field is one argument as a program would get it, as far as it can be known.
type field struct {
	text string // marks stand for unknown parts
	glob bool   // a pattern
	dyn  bool   // the part after the last slash comes from an expansion
}

// open tells whether the argument may begin with anything, and so be an option.
func (f field) open() bool { return strings.HasPrefix(f.text, unknown) }

// seen tells whether the whole argument is known.
func (f field) seen() bool { return !paths.Marked(f.text) && !f.glob }

// option tells whether the argument is an option, and not "-" or "--".
func (f field) option() bool {
	return len(f.text) > 1 && f.text[0] == '-' && f.text != "--"
}

const (
	maxFields = 256  // words from the brace expansion of one word
	maxBraces = 16   // braces in one word
	maxArgs   = 4096 // arguments of one command; beyond that the last is unknown
)

// expand returns the arguments that words become in the current state.
func (s shell) expand(words []*syntax.Word) []field {
	e := expander{s: s, out: make([]field, 0, len(words)+1)}
	for _, w := range words {
		if e.braces(w); len(e.out) >= maxArgs {
			break
		}
	}
	return e.out
}

// text returns the value of a word that is not split, as in an assignment.
func (s shell) text(w *syntax.Word) field {
	if w == nil {
		return field{}
	}
	e := expander{s: s, whole: true}
	e.word(w)
	return append(e.out, field{})[0]
}

// expander builds fields from the parts of words.
type expander struct {
	s     shell
	out   []field
	cur   []byte
	has   bool // there is a field, though it may be empty
	glob  bool
	dyn   bool
	whole bool // neither split nor matched
}

func (e *expander) braces(w *syntax.Word) {
	open := 0
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			open += strings.Count(lit.Value, "{")
		}
	}
	split := &syntax.Word{Parts: w.Parts}
	switch {
	case open > maxBraces:
		e.out = append(e.out, field{text: unknown})
		return
	case open == 0 || !syntax.SplitBraces(split):
		e.word(w)
		return
	}
	n := 0
	for one, err := range expand.BracesSeq(&expand.Config{}, split) {
		if n++; err != nil || n > maxFields {
			e.out = append(e.out, field{text: unknown})
			return
		}
		e.word(one)
	}
}

func (e *expander) word(w *syntax.Word) {
	for i, p := range w.Parts {
		e.part(p, i == 0)
	}
	e.end()
}

func (e *expander) end() {
	e.s.work += 16 + len(e.cur)
	switch {
	case !e.has:
	case len(e.out) >= maxArgs:
		e.out[maxArgs-1] = field{text: unknown}
	default:
		e.out = append(e.out, field{text: string(e.cur), glob: e.glob && !e.whole, dyn: e.dyn})
	}
	e.cur, e.has, e.glob, e.dyn = e.cur[:0], false, false, false
}

func (e *expander) part(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		e.lit(p.Value, first)
	case *syntax.SglQuoted:
		text := p.Value
		if p.Dollar {
			text = code.Unescape(text)
		}
		e.literal(clean(text))
	case *syntax.DblQuoted:
		e.quoted(p)
	case *syntax.ProcSubst:
		e.literal("/dev/fd/" + number)
	case *syntax.ParamExp:
		e.param(p, false)
	default:
		e.split(e.s.substituted(p))
	}
}

func (e *expander) quoted(q *syntax.DblQuoted) {
	e.has = true
	for _, p := range q.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text, _ := unbackslash(p.Value, quotedEscapes)
			e.literal(clean(text))
		case *syntax.ParamExp:
			e.param(p, true)
		default:
			e.dynamic(e.s.substituted(p).text)
		}
	}
}

// lit adds text that stands unquoted in the source.
func (e *expander) lit(s string, first bool) {
	if first && strings.HasPrefix(s, "~") {
		s = e.tilde(s)
	}
	text, glob := unbackslash(s, "")
	e.glob = e.glob || glob
	e.literal(clean(text))
}

// tilde replaces the home folder at the start of a word.
func (e *expander) tilde(s string) string {
	user, rest, _ := strings.Cut(s, "/")
	if len(rest) > 0 || strings.HasSuffix(s, "/") {
		rest = "/" + rest
	}
	e.has = true
	switch {
	case user == "~":
		user = e.s.home()
	case strings.Contains(user, `\`):
		return s
	default:
		user = "/home/" + user[1:]
	}
	e.cur = append(e.cur, user...) // marks stay marks
	return rest
}

func (e *expander) literal(s string) {
	e.has = true
	e.add(s)
	if strings.Contains(s, "/") {
		e.dyn = false
	}
}

func (e *expander) dynamic(s string) {
	e.has = true
	e.dyn = true
	e.add(s)
}

// add bounds the length of variables that hold each other.
func (e *expander) add(s string) {
	if len(e.cur)+len(s) > maxSource {
		e.cur, s = e.cur[:0], unknown
	}
	e.cur = append(e.cur, s...)
}

// split adds the text of an unquoted expansion: at white space a field ends.
func (e *expander) split(v field) {
	if e.whole {
		e.dynamic(v.text)
		return
	}
	if _, changed := e.s.get("IFS"); changed && v.text != "" {
		e.dynamic(unknown)
		return
	}
	for i, part := range strings.Split(strings.NewReplacer("\t", " ", "\n", " ").Replace(v.text), " ") {
		if i > 0 {
			e.end()
		}
		if part != "" {
			e.dynamic(part)
			e.glob = e.glob || v.glob || strings.ContainsAny(part, "*?[")
		}
	}
}

func (e *expander) param(p *syntax.ParamExp, quoted bool) {
	if p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") && plain(p) && e.s.argsKnown {
		for i, a := range e.s.args {
			if i > 0 {
				e.end()
			}
			e.dynamic(a.text)
			e.glob = e.glob || a.glob
		}
		return
	}
	v := e.s.param(p)
	if !quoted {
		e.split(v)
		return
	}
	e.dynamic(v.text)
	e.glob = e.glob || v.glob
}

// plain tells whether a parameter is expanded with nothing done to it.
func plain(p *syntax.ParamExp) bool {
	return p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil && p.Index == nil &&
		len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// param returns the value of an expansion of a parameter in the current state.
func (s shell) param(p *syntax.ParamExp) field {
	if p.Param == nil || p.Excl {
		return anything
	}
	name := p.Param.Value
	if name == "BASH_SOURCE" && !p.Length && p.Exp == nil && p.Slice == nil && p.Repl == nil {
		return s.variable("0") // of a script it is the same
	}
	if p.Index != nil {
		return anything
	}
	if p.Length {
		return field{text: number}
	}
	v := s.variable(name)
	if plain(p) {
		return v
	}
	if p.Exp == nil {
		return anything
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if v.text != "" && !strings.Contains(v.text, unknown) {
			return v
		}
		if s.metDefault = true; s.takesDefault {
			return field{text: s.text(p.Exp.Word).text}
		}
		return v
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return v
	}
	return anything
}

// variable returns the value of a variable in the current state.
func (s shell) variable(name string) field {
	switch {
	case contains("# ? $ ! LINENO RANDOM SECONDS PPID UID EUID BASHPID", name):
		return field{text: number}
	case name == "PWD":
		return field{text: s.pwd()}
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9' && s.argsKnown:
		if i := int(name[0] - '1'); i < len(s.args) {
			return s.args[i]
		}
		return field{}
	}
	val, set := s.get(name)
	if set && !(name == "HOME" && val.text == unknown && s.scope.Home != "") { // something unseen ran; it is still home
		return val
	}
	known, ok := s.scope.Env[name]
	switch {
	case name == "HOME":
		return field{text: s.scope.Home}
	case name == "IFS":
		return field{text: " \t\n"}
	case ok:
		return field{text: clean(known)}
	case name == "TMPDIR" && len(s.scope.Temp) > 0:
		return field{text: s.scope.Temp[0]} // as programs take it
	}
	return anything
}

func (s shell) home() string { return cmp.Or(s.variable("HOME").text, unknown) }

// pwd is the folder the shell is in, when there is only one it can be.
func (s shell) pwd() string {
	return cmp.Or(s.cwd, unknown)
}

// substituted returns the value of an expansion other than of a parameter.
func (s shell) substituted(p syntax.WordPart) field {
	switch p := p.(type) {
	case *syntax.ArithmExp:
		return field{text: number}
	case *syntax.CmdSubst:
		if len(p.Stmts) == 1 && s.substDepth <= 4 && len(p.Stmts[0].Redirs) == 0 {
			s.substDepth++
			defer func() { s.substDepth-- }()
			return s.output(p.Stmts[0])
		}
	}
	return anything
}

// printsName finds commands that print a number, or the name of a branch or a commit.
var printsName = lazyregexp.New(`^(git (branch --show-current|(rev-parse|symbolic-ref) (--(abbrev-ref|short|verify) )?HEAD|merge-base [^- ]\S* \S+)|cat \S+\.pid)$`)

// output returns the output of a substituted command, if it is known.
func (s shell) output(stmt *syntax.Stmt) field {
	if b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.AndStmt && firstWord(b.X) == "cd" && firstWord(b.Y) == "pwd" {
		inner := s.fork()
		if out := inner.stmt(b.X); len(out) == 1 {
			return field{text: cmp.Or(out[0].cwd, unknown)}
		}
		return anything
	}
	c, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return anything
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, cmp.Or(w.Lit(), " "))
	}
	if printsName.MatchString(strings.Join(words, " ")) {
		return field{text: number}
	}
	switch words[0] {
	case "pwd":
		return field{text: s.pwd()}
	case "mktemp":
		for _, a := range s.expand(c.Args[1:]) {
			own := a.seen() && (a.text == "--tmpdir" || s.scope.places().OwnTemp(a.text))
			if !own && (!a.seen() || strings.Contains(a.text, "/") || strings.HasPrefix(a.text, "-p") || strings.HasPrefix(a.text, "--tmp")) {
				return anything
			}
		}
		return field{text: fresh}
	case "echo", "printf":
		if in := s.printed(c.Args); in.known {
			return field{text: strings.TrimRight(in.text, "\n")}
		}
	case "dirname":
		if o := parse(&rules.Program{}, s.expand(c.Args[1:])); len(o.rest) == 1 && len(o.list) == 0 && o.rest[0].seen() && o.rest[0].text != "" {
			return field{text: path.Dir(paths.Slashes(o.rest[0].text))}
		}
	}
	return anything
}

// quotedEscapes are the characters before which a backslash counts within double quotes.
const quotedEscapes = "$`\"\\\n"

// unbackslash undoes backslashes: before the special characters, or if there are none, before
// all. It reports whether a pattern stands in the text.
func unbackslash(s, special string) (text string, glob bool) {
	if !strings.ContainsAny(s, `\*?[`) {
		return s, false
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (special == "" || strings.IndexByte(special, s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		} else {
			glob = glob || strings.IndexByte("*?[", s[i]) >= 0
		}
		b = append(b, s[i])
	}
	return string(b), glob
}

// clean replaces characters that could be taken for marks by unknown.
func clean(s string) string {
	if !paths.Marked(s) {
		return s
	}
	return strings.NewReplacer(fresh, unknown, number, unknown).Replace(s)
}

// quote writes an argument as one would type it; patterns stay bare.
func quote(f field) string {
	if f.text == "" {
		return "''"
	}
	unsafe := func(r rune) bool {
		return !(r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+^", r)) ||
			r > utf8.RuneSelf || f.glob && strings.ContainsRune("*?[]{}!", r))
	}
	if !strings.ContainsFunc(f.text, unsafe) {
		return f.text
	}
	return "'" + strings.ReplaceAll(f.text, "'", `'\''`) + "'"
}
