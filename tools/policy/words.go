package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// field is an argument as a program would get it, as far as known.
type field struct {
	text string // marks stand for unknown parts
	glob bool   // a pattern
	dyn  bool   // the part after the last slash comes from an expansion
}

// open reports whether the argument may begin with anything, and so be an option.
func (f field) open() bool { return strings.HasPrefix(f.text, unknown) }

// seen reports whether the whole argument is known.
func (f field) seen() bool { return !paths.Marked(f.text) && !f.glob }

// option reports whether the argument is an option, and not "-" or "--".
func (f field) option() bool {
	return len(f.text) > 1 && f.text[0] == '-' && f.text != "--"
}

const (
	maxParts  = 32   // parts of a word with braces
	maxFields = 256  // words from the brace expansion of a word
	maxArgs   = 4096 // arguments of a command; beyond the limit the last is unknown
)

// expand returns the arguments from words in the current state.
func (s shell) expand(words []*syntax.Word) (out []field) {
	for _, w := range words {
		split, n := &syntax.Word{Parts: w.Parts}, 0
		if syntax.SplitBraces(split) && len(split.Parts) > maxParts {
			out = append(out, anything)
			continue
		}
		for one, err := range expand.BracesSeq(&expand.Config{}, split) {
			if n++; err != nil || n > maxFields || len(out) >= maxArgs {
				out = append(out[:min(len(out), maxArgs-1)], anything)
				break
			}
			out = append(out, s.fields(one.Parts, false)...)
		}
	}
	return out
}

// text returns the value of a word without splitting, as in an assignment.
func (s shell) text(w *syntax.Word) (f field) {
	if w == nil {
		return f
	}
	return append(s.fields(w.Parts, true), f)[0]
}

// fields returns the arguments from a word in the current state. If whole is set, the word is not
// split.
func (s shell) fields(parts []syntax.WordPart, whole bool) []field {
	b := builder{shell: s, whole: whole}
	b.parts(parts, false)
	b.end()
	return b.out
}

// builder joins the parts of a word to arguments.
type builder struct {
	shell
	whole bool // the word is not split
	begun bool // there is a last argument
	last  field
	out   []field // all others
}

func (b *builder) parts(parts []syntax.WordPart, quoted bool) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text, escapes := p.Value, quotedEscape
			if !quoted {
				escapes = escaped
				if m := homeOf.FindStringSubmatch(text); m != nil && i == 0 {
					home := b.variable("HOME")
					if m[1] != "" {
						home.text = "/home/" + m[1]
					}
					b.add(field{text: home.text}, false)
					text = text[1+len(m[1]):]
				}
			}
			glob := !quoted && strings.ContainsAny(escapes.ReplaceAllString(text, ""), "*?[")
			b.add(field{text: clean(escapes.ReplaceAllString(text, "$1")), glob: glob}, false)
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text = code.Unescape(text)
			}
			b.add(field{text: clean(text)}, false)
		case *syntax.ProcSubst:
			b.add(field{text: "/dev/fd/" + number}, false)
		case *syntax.DblQuoted:
			b.add(field{}, false)
			b.parts(p.Parts, true)
		default:
			for k, v := range b.expansion(p) {
				if k > 0 && !b.whole {
					b.end()
				}
				v.dyn = true
				b.add(v, !quoted)
			}
		}
	}
}

// add adds a text to the last argument. If splits is set, white space ends the argument.
func (b *builder) add(v field, splits bool) {
	parts := []string{v.text}
	if splits = splits && !b.whole; splits {
		if parts = strings.Split(blanks.Replace(v.text), " "); len(b.get("IFS")) > 0 && v.text != "" {
			parts = []string{unknown}
		}
	}
	for i, part := range parts {
		if i > 0 {
			b.end()
		}
		if splits && part == "" {
			continue
		}
		if b.begun = true; len(b.last.text)+len(part) > maxSource { // variables that contain each other
			b.last.text, part = "", unknown
		}
		b.last = field{
			text: b.last.text + part,
			glob: !b.whole && (b.last.glob || v.glob || splits && strings.ContainsAny(part, "*?[")),
			dyn:  v.dyn || b.last.dyn && !strings.Contains(part, "/"),
		}
	}
}

func (b *builder) end() {
	b.work += 16 + len(b.last.text)
	if b.begun {
		b.out = append(b.out, b.last)
	}
	b.last, b.begun = field{}, false
}

var blanks = strings.NewReplacer("\t", " ", "\n", " ")

// homeOf finds the home folder of a user at the start of a word. The others find characters with a
// backslash before them, in a word and within double quotes.
var (
	homeOf       = lazyregexp.New(`^~([^/\\]*)(/|$)`)
	escaped      = lazyregexp.New(`(?s)\\(?:\n|(.))`)
	quotedEscape = lazyregexp.New("\\\\(?:\n|([$`\"\\\\]))")
)

// plain reports whether a parameter is expanded unchanged.
func plain(p *syntax.ParamExp) bool {
	return p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil && p.Index == nil &&
		len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// param returns the value of an expansion of a parameter in the current state.
func (s shell) param(p *syntax.ParamExp) field {
	if p.Param == nil {
		return anything
	}
	v, bare := s.variable(p.Param.Value), *p
	if bare.Exp = nil; p.Param.Value == "BASH_SOURCE" {
		bare.Index = nil
	}
	switch {
	case p.Length:
		return field{text: number}
	case !plain(&bare), p.Exp != nil && !contains("- = ? :- := :?", p.Exp.Op.String()):
		return anything
	case p.Exp != nil && !contains("? :?", p.Exp.Op.String()) && (v.text == "" || strings.Contains(v.text, unknown)):
		return s.one([]field{v, s.text(p.Exp.Word)})
	}
	return v
}

// variable returns the value of a variable in the present turn.
func (s shell) variable(name string) field { return s.one(s.values(name)) }

// values returns the possible values of a variable in the current state.
func (s shell) values(name string) []field {
	known, given := s.scope.Env[name]
	set := s.get(name)
	var val field
	switch {
	case contains("# ? $ ! LINENO RANDOM SECONDS PPID UID EUID BASHPID", name):
		val.text = number
	case name == "BASH_SOURCE":
		return s.values("0") // of a script it is the same
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9' && s.args != nil:
		if i := int(name[0] - '1'); i < len(s.args) {
			val = s.args[i]
		}
	case name == "PWD", name == folder && s.vars[folder] == nil:
		val.text = s.cwd
	case len(set) > 0 && !(name == "HOME" && set[0].text == unknown && s.scope.Home != ""): // something unseen ran; it is still home
		return set
	case name == "HOME":
		val.text = cmp.Or(s.scope.Home, unknown)
	case name == "IFS":
		val.text = " \t\n"
	case given:
		val.text = clean(known)
	case name == "TMPDIR" && len(s.scope.Temp) > 0:
		val.text = s.scope.Temp[0] // as programs read it
	default:
		val = anything
	}
	return []field{val}
}

// expansion returns the values of an expansion. "$@" returns a value for each argument.
func (s shell) expansion(p syntax.WordPart) []field {
	v := anything
	switch p := p.(type) {
	case *syntax.ParamExp:
		if p.Param != nil && contains("@ *", p.Param.Value) && plain(p) && s.args != nil {
			return s.args
		}
		v = s.param(p)
	case *syntax.ArithmExp:
		v.text = number
	case *syntax.CmdSubst:
		written := func(r *syntax.Redirect) bool { return r.Hdoc == nil }
		if len(p.Stmts) == 1 && !slices.ContainsFunc(p.Stmts[0].Redirs, written) {
			if text, known := s.stdout(p.Stmts[0]); known {
				v.text = strings.TrimRight(text, "\n")
			}
		}
	}
	return []field{v}
}

// cleaner replaces marks by unknown.
var cleaner = strings.NewReplacer(fresh, unknown, number, unknown)

// clean replaces characters that look like marks.
func clean(s string) string { return cleaner.Replace(s) }

// Words and patterns without need for quotes.
var (
	plainWord    = lazyregexp.New(`^[\w./=:,@%+^\x{81}-\x{10FFFF}-]+$`)
	plainPattern = lazyregexp.New(`^[\w./=:,@%+^*?[\]{}!\x{81}-\x{10FFFF}-]+$`)
)

// quote writes an argument as typed in a shell; patterns stay bare.
func quote(f field) string {
	if f.text == "" {
		return "''"
	}
	if plainWord.MatchString(f.text) || f.glob && plainPattern.MatchString(f.text) {
		return f.text
	}
	return "'" + strings.ReplaceAll(f.text, "'", `'\''`) + "'"
}

// input is the standard input of a command.
type input struct {
	some  bool   // input exists and is neither the terminal nor a file
	known bool   // text is all of it
	text  string // with marks
	how   string // where it comes from, when not known: "" a pipe, else a reason
	below string // if its lines are the files below a directory: the start of each line
}

const downloads = "runs what it downloads"

// producer returns the output of a statement into a pipe or a file.
func (s shell) producer(stmt *syntax.Stmt) input {
	if text, known := s.stdout(stmt); known {
		return input{some: true, known: true, text: text}
	}
	return input{some: true, how: origin(stmt), below: s.below(stmt)}
}

// printsName matches commands that print a number, or the name of a branch or a commit.
var printsName = lazyregexp.New(`^(git (branch --show-current|(rev-parse|symbolic-ref) (--(abbrev-ref|short|verify) )?HEAD|merge-base [^- ]\S* \S+)|cat \S+\.pid)$`)

// stdout returns the output of a statement, if known.
func (s shell) stdout(stmt *syntax.Stmt) (text string, known bool) {
	if b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.AndStmt && firstWord(b.X) == "cd" && firstWord(b.Y) == "pwd" {
		inner := s.fork()
		inner.stmt(b.X)
		return inner.cwd, true
	}
	c, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return "", false
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, cmp.Or(w.Lit(), " "))
	}
	if printsName.MatchString(strings.Join(words, " ")) {
		return number, true
	}
	switch words[0] {
	case "echo", "printf":
		return s.printed(c.Args)
	case "cat":
		if i := slices.IndexFunc(stmt.Redirs, func(r *syntax.Redirect) bool { return r.Hdoc != nil || r.Op == syntax.WordHdoc }); i >= 0 && len(words) == 1 {
			return s.here(stmt.Redirs[i]), true
		}
	case "pwd":
		return s.cwd, true
	case "mktemp":
		for _, a := range s.expand(c.Args[1:]) {
			own := a.seen() && (a.text == "--tmpdir" || s.scope.places().OwnTemp(a.text))
			if !own && (!a.seen() || strings.Contains(a.text, "/") || strings.HasPrefix(a.text, "-p") || strings.HasPrefix(a.text, "--tmp")) {
				return "", false
			}
		}
		return fresh, true
	case "dirname":
		if rest := parse(&rules.Program{}, s.expand(c.Args[1:])).rest; len(rest) == 1 && rest[0].seen() && rest[0].text != "" {
			return path.Dir(paths.Slashes(rest[0].text)), true
		}
	}
	return "", false
}

// printed returns the output of echo or printf, if known.
func (s shell) printed(args []*syntax.Word) (text string, known bool) {
	var words []string
	for _, a := range s.expand(args) {
		words = append(words, a.text)
	}
	text = strings.Join(words[1:], " ") + " "
	switch options := echoOptions.FindStringSubmatch(text)[0]; {
	case paths.Marked(text):
		return "", false
	case words[0] == "printf":
		if len(words) == 1 || text[0] == '-' {
			return "", false
		}
		text, _, err := expand.Format(&expand.Config{}, words[1], words[2:])
		return clean(text), err == nil
	case strings.Contains(options, "e"):
		text = code.Unescape(text[len(options):])
	default:
		text = text[len(options):]
	}
	return clean(strings.TrimSuffix(text, " ")) + "\n", true
}

// echoOptions are the options of echo, at the begin of its arguments.
var echoOptions = lazyregexp.New(`^(-[neE]+ )*`)

// origin returns how a stream was produced, for origins relevant to a shell.
func origin(n syntax.Node) (how string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			how = max(how, rules.Reason("origin", programName(w.Lit())))
		}
		return true
	})
	return how
}

// below returns the directory of all file names printed by a statement, or "" if uncertain. Each
// name begins with the directory, so it is not an option.
func (s shell) below(stmt *syntax.Stmt) string {
	if b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe && rules.In("filters", firstWord(b.Y)) {
		return s.below(b.X)
	}
	c, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || len(c.Assigns) > 0 {
		return ""
	}
	var from []field
	switch firstWord(stmt) {
	case "find":
		from = starts(s.expand(c.Args)[1:])
	case "grep", "rg":
		o := parse(rules.Of("grep"), s.expand(c.Args)[1:])
		if len(o.values("-l", "--files-with-matches")) > 0 && len(o.values("-e", "--regexp", "-f", "--file")) == 0 && len(o.rest) > 1 {
			from = o.rest[1:]
		}
	}
	if len(from) != 1 || !from[0].seen() || strings.HasPrefix(from[0].text, "-") {
		return ""
	}
	return strings.TrimSuffix(from[0].text, "/") + "/"
}

// here returns the text of a here-document or here-string.
func (s shell) here(r *syntax.Redirect) string {
	switch delimiter := r.Word.Lit(); {
	case r.Op == syntax.WordHdoc:
		return s.text(r.Word).text + "\n"
	case r.Hdoc == nil:
		return ""
	case delimiter == "" || strings.Contains(delimiter, `\`): // quoted
		return clean(r.Hdoc.Lit())
	}
	return s.text(&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: r.Hdoc.Parts}}}).text
}
