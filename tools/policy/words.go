package policy

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

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
func (f field) seen() bool { return !strings.ContainsAny(f.text, unknown+fresh+number) && !f.glob }

// option tells whether the argument is an option, and not "-" or "--".
func (f field) option() bool {
	return len(f.text) > 1 && f.text[0] == '-' && f.text != "--"
}

const (
	maxFields = 256  // words from the brace expansion of one word
	maxBraces = 16   // braces in one word
	maxArgs   = 4096 // arguments of one command; beyond that the last is unknown
)

// expand returns the arguments that words become in the current environment.
func (j *analyzer) expand(st *state, words []*syntax.Word) []field {
	e := expander{j: j, st: st, out: make([]field, 0, len(words)+1)}
	for _, w := range words {
		if e.braces(w); len(e.out) >= maxArgs {
			break
		}
	}
	return e.out
}

// text returns the value of a word that is not split, as in an assignment.
func (j *analyzer) text(st *state, w *syntax.Word) field {
	if w == nil {
		return field{}
	}
	e := expander{j: j, st: st, whole: true}
	e.word(w)
	if len(e.out) == 0 {
		return field{}
	}
	return e.out[0]
}

// values returns every text that a word may become where it is not split.
func (j *analyzer) values(st *state, w *syntax.Word) []value {
	var out []value
	j.eachEnvironment(func() {
		f := j.text(st, w)
		out = union(out, []value{{text: f.text}})
	})
	return out
}

// expander builds fields from the parts of words.
type expander struct {
	j     *analyzer
	st    *state
	out   []field
	cur   []byte
	has   bool // there is a field, though it may be empty
	glob  bool
	dyn   bool
	whole bool // neither split nor matched
}

func (e *expander) braces(w *syntax.Word) {
	switch n := bracesIn(w); {
	case n == 0:
		e.word(w)
		return
	case n > maxBraces:
		e.has = true
		e.add(unknown)
		e.end()
		return
	}
	split := &syntax.Word{Parts: w.Parts}
	if !syntax.SplitBraces(split) {
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

func bracesIn(w *syntax.Word) (n int) {
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

func (e *expander) word(w *syntax.Word) {
	for i, p := range w.Parts {
		e.part(p, i == 0)
	}
	e.end()
}

func (e *expander) end() {
	e.j.work += 16 + len(e.cur)
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
			text = ansiC(text)
		}
		e.literal(clean(text))
	case *syntax.DblQuoted:
		e.quoted(p)
	case *syntax.ExtGlob:
		e.glob = true
		e.literal(clean(p.Op.String() + p.Pattern.Value + ")"))
	case *syntax.ProcSubst:
		e.literal("/dev/fd/" + number)
	case *syntax.ParamExp:
		e.param(p, false)
	default:
		e.split(e.j.substituted(e.st, p))
	}
}

func (e *expander) quoted(q *syntax.DblQuoted) {
	e.has = true
	for _, p := range q.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			e.literal(clean(unescapeDouble(p.Value)))
		case *syntax.ParamExp:
			e.param(p, true)
		default:
			e.dynamic(e.j.substituted(e.st, p).text)
		}
	}
}

// lit adds text that stands unquoted in the source.
func (e *expander) lit(s string, first bool) {
	if first && strings.HasPrefix(s, "~") {
		s = e.tilde(s)
	}
	if !strings.ContainsAny(s, "\\*?[") {
		e.literal(clean(s))
		return
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i >= len(s) {
				b = append(b, '\\')
				continue
			}
			if s[i] == '\n' {
				continue
			}
		case '*', '?', '[':
			e.glob = true
		}
		b = append(b, s[i])
	}
	e.literal(clean(string(b)))
}

// tilde replaces the home folder at the start of a word.
func (e *expander) tilde(s string) string {
	user, rest, _ := strings.Cut(s, "/")
	if len(rest) > 0 || strings.HasSuffix(s, "/") {
		rest = "/" + rest
	}
	e.has = true
	switch user {
	case "~":
		user = e.j.home(e.st)
	case "~+":
		user = e.j.pwd(e.st)
	case "~-":
		user = unknown
	case "~root":
		user = "/root"
	default:
		if strings.ContainsAny(user, "\\") {
			return s
		}
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
func (e *expander) split(v value) {
	if e.whole {
		e.dynamic(v.text)
		return
	}
	if _, changed := e.st.get("IFS"); changed && v.text != "" {
		e.dynamic(unknown)
		return
	}
	rest := v.text
	for rest != "" {
		i := strings.IndexAny(rest, " \t\n")
		if i != 0 {
			part := rest
			if i > 0 {
				part = rest[:i]
			}
			e.dynamic(part)
			e.glob = e.glob || v.glob || strings.ContainsAny(part, "*?[")
		}
		if i < 0 {
			return
		}
		e.end()
		rest = strings.TrimLeft(rest[i:], " \t\n")
	}
}

func (e *expander) param(p *syntax.ParamExp, quoted bool) {
	if p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") && plain(p) && e.st.argsKnown {
		for i, a := range e.st.args {
			if i > 0 {
				e.end()
			}
			e.dynamic(a.text)
			e.glob = e.glob || a.glob
		}
		return
	}
	v := e.j.param(e.st, p)
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

// param returns the value of an expansion of a parameter in the current environment.
func (j *analyzer) param(st *state, p *syntax.ParamExp) value {
	if p.Param != nil && p.Param.Value == "BASH_SOURCE" && !p.Excl && !p.Length && p.Exp == nil && p.Slice == nil && p.Repl == nil {
		return j.variable(st, "0") // of a script it is the same
	}
	if p.Param == nil || p.Excl || p.Index != nil {
		return anything[0]
	}
	if p.Length {
		return value{text: number}
	}
	name := p.Param.Value
	v := j.variable(st, name)
	if plain(p) {
		return v
	}
	if p.Exp == nil {
		return anything[0]
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if v.text != "" && !strings.Contains(v.text, unknown) {
			return v
		}
		other := value{text: j.text(st, p.Exp.Word).text}
		return j.environments.pick("${"+name+":-}", []value{v, other})
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return v
	}
	return anything[0]
}

// variable returns the value of a variable in the current environment.
func (j *analyzer) variable(st *state, name string) value {
	switch name {
	case "#", "?", "$", "!", "LINENO", "RANDOM", "SECONDS", "PPID", "UID", "EUID", "BASHPID":
		return value{text: number}
	case "PWD":
		return value{text: j.pwd(st)}
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' && st.argsKnown {
		if i := int(name[0] - '1'); i < len(st.args) {
			return value{text: st.args[i].text, glob: st.args[i].glob}
		}
		return value{}
	}
	if vals, ok := st.get(name); ok {
		if name == "HOME" && vals[0].text == unknown && len(vals) == 1 && j.scope.Home != "" {
			return value{text: j.scope.Home} // something unseen ran; it is still home
		}
		return j.environments.pick(name, vals)
	}
	switch name {
	case "HOME":
		return value{text: j.scope.Home}
	case "IFS":
		return value{text: " \t\n"}
	}
	if v, ok := j.scope.Env[name]; ok {
		return value{text: clean(v)}
	}
	if name == "TMPDIR" && len(j.scope.Temp) > 0 {
		return value{text: j.scope.Temp[0]} // as programs take it
	}
	return anything[0]
}

func (j *analyzer) home(st *state) string {
	if h := j.variable(st, "HOME").text; h != "" {
		return h
	}
	return unknown
}

// pwd is the folder the shell is in, when there is only one it can be.
func (j *analyzer) pwd(st *state) string {
	if len(st.cwds) == 1 && st.cwds[0] != "" {
		return st.cwds[0]
	}
	return unknown
}

// substituted returns the value of an expansion other than of a parameter.
func (j *analyzer) substituted(st *state, p syntax.WordPart) value {
	switch p := p.(type) {
	case *syntax.ArithmExp:
		return value{text: number}
	case *syntax.CmdSubst:
		if len(p.Stmts) == 1 {
			return j.output(st, p.Stmts[0])
		}
	}
	return anything[0]
}

// output returns the output of a substituted command, if it is known.
func (j *analyzer) output(st *state, s *syntax.Stmt) value {
	if j.substDepth > 4 || len(s.Redirs) > 0 {
		return anything[0]
	}
	j.substDepth++
	defer func() { j.substDepth-- }()
	if folder, ok := j.entered(st, s); ok {
		return folder
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return anything[0]
	}
	switch c.Args[0].Lit() {
	case "pwd":
		return value{text: j.pwd(st)}
	case "mktemp":
		for _, a := range j.expand(st, c.Args[1:]) {
			if a.seen() && (a.text == "--tmpdir" || j.scope.ownTemp(a.text)) {
				continue
			}
			if strings.Contains(a.text, "/") || strings.HasPrefix(a.text, "-p") || strings.HasPrefix(a.text, "--tmp") || !a.seen() {
				return anything[0]
			}
		}
		return value{text: fresh}
	case "echo", "printf":
		if in := j.printed(st, c.Args); in.known {
			return value{text: strings.TrimRight(in.text, "\n")}
		}
	case "dirname":
		args := j.expand(st, c.Args[1:])
		if len(args) == 2 && args[0].text == "--" {
			args = args[1:]
		}
		if len(args) == 1 && args[0].seen() && !args[0].option() && args[0].text != "" {
			return value{text: path.Dir(slashes(args[0].text))}
		}
	case "git":
		if namesCommit(literals(c.Args[1:])) {
			return value{text: number}
		}
	case "cat":
		if words := literals(c.Args[1:]); len(words) == 1 && strings.HasSuffix(words[0], ".pid") {
			return value{text: number}
		}
	}
	return anything[0]
}

// entered returns the folder that "cd folder && pwd" prints.
func (j *analyzer) entered(st *state, s *syntax.Stmt) (value, bool) {
	b, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || b.Op != syntax.AndStmt || len(b.X.Redirs)+len(b.Y.Redirs) > 0 {
		return value{}, false
	}
	cd, ok1 := b.X.Cmd.(*syntax.CallExpr)
	pwd, ok2 := b.Y.Cmd.(*syntax.CallExpr)
	if !ok1 || !ok2 || len(cd.Args) != 2 || cd.Args[0].Lit() != "cd" || len(pwd.Args) != 1 || pwd.Args[0].Lit() != "pwd" {
		return value{}, false
	}
	to := j.expand(st, cd.Args[1:])
	if len(to) != 1 || !to[0].seen() || to[0].option() {
		return value{}, false
	}
	paths := absolute(st, to[0].text)
	if len(paths) != 1 || strings.Contains(paths[0], unknown) {
		return value{}, false
	}
	return value{text: cleanPath(paths[0])}, true
}

// literals returns words that are written plainly; an empty one is none.
func literals(words []*syntax.Word) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = w.Lit()
	}
	return list
}

// namesCommit tells whether git, so called, prints the name of a branch or a commit.
func namesCommit(words []string) bool {
	if len(words) < 2 || slices.Contains(words, "") {
		return false
	}
	switch words[0] {
	case "branch":
		return len(words) == 2 && words[1] == "--show-current"
	case "rev-parse", "symbolic-ref":
		return len(words) <= 3 && words[len(words)-1] == "HEAD" && (len(words) == 2 || slices.Contains([]string{"--abbrev-ref", "--short", "--verify"}, words[1]))
	case "merge-base":
		return len(words) == 3 && !strings.HasPrefix(words[1], "-")
	}
	return false
}

// ansiC undoes the escapes of $'…'. Text after a NUL is lost, as in bash.
func ansiC(s string) string {
	text, _, err := expand.Format(&expand.Config{}, s, nil)
	if err != nil || strings.Contains(text, `\c`) {
		return unknown
	}
	text, _, _ = strings.Cut(text, "\x00")
	return text
}

// unescapeDouble undoes the backslashes that count within double quotes.
func unescapeDouble(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
			if i++; s[i] == '\n' {
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// clean replaces characters that could be taken for marks by unknown.
func clean(s string) string {
	if !strings.ContainsAny(s, unknown+fresh+number) {
		return s
	}
	return strings.NewReplacer(fresh, unknown, number, unknown).Replace(s)
}

// quote writes an argument as one would type it; patterns stay bare.
func quote(f field) string {
	if f.text == "" {
		return "''"
	}
	safe := true
	for _, r := range f.text {
		if !(r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+^", r)) ||
			r > utf8.RuneSelf || f.glob && strings.ContainsRune("*?[]{}!", r)) {
			safe = false
			break
		}
	}
	if safe {
		return f.text
	}
	return "'" + strings.ReplaceAll(f.text, "'", `'\''`) + "'"
}
