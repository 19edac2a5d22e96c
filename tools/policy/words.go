package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
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
	maxParts  = 32   // parts of a word with braces
	maxFields = 256  // words from the brace expansion of one word
	maxArgs   = 4096 // arguments of one command; beyond that the last is unknown
)

// piece is a part of a word.
type piece struct {
	text    string
	glob    bool // a pattern
	dynamic bool // it comes from an expansion
	splits  bool // an argument ends at white space in it
	ends    bool // an argument ends before it
}

// expand returns the arguments that words become in the current state.
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
			out = append(out, s.assemble(s.pieces(one.Parts, false))...)
		}
	}
	return out
}

// text returns the value of a word that is not split, as in an assignment.
func (s shell) text(w *syntax.Word) (f field) {
	if w == nil {
		return f
	}
	pieces := s.pieces(w.Parts, false)
	for i := range pieces {
		pieces[i].splits, pieces[i].glob, pieces[i].ends = false, false, false
	}
	return append(s.assemble(pieces), f)[0]
}

// pieces returns the parts of a word in the current state.
func (s shell) pieces(parts []syntax.WordPart, quoted bool) (out []piece) {
	expansion := func(v field) piece {
		return piece{text: v.text, glob: v.glob, dynamic: true, splits: !quoted}
	}
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if quoted {
				out = append(out, piece{text: clean(quotedEscape.ReplaceAllString(p.Value, "$1"))})
				continue
			}
			home, rest := "", p.Value
			if m := homeOf.FindStringSubmatch(rest); m != nil && i == 0 {
				if home, rest = "/home/"+m[1], rest[1+len(m[1]):]; m[1] == "" {
					home = s.variable("HOME").text
				}
			}
			glob := strings.ContainsAny(escaped.ReplaceAllString(rest, ""), "*?[")
			out = append(out, piece{text: home}, piece{text: clean(escaped.ReplaceAllString(rest, "$1")), glob: glob})
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				text = code.Unescape(text)
			}
			out = append(out, piece{text: clean(text)})
		case *syntax.DblQuoted:
			out = append(append(out, piece{}), s.pieces(p.Parts, true)...)
		case *syntax.ProcSubst:
			out = append(out, piece{text: "/dev/fd/" + number})
		case *syntax.ParamExp:
			if p.Param != nil && contains("@ *", p.Param.Value) && plain(p) && s.args != nil {
				for k, a := range s.args {
					out = append(out, piece{text: a.text, glob: a.glob, dynamic: true, ends: k > 0})
				}
				continue
			}
			out = append(out, expansion(s.param(p)))
		default:
			out = append(out, expansion(s.substituted(p)))
		}
	}
	return out
}

// assemble joins the pieces of a word to arguments.
func (s shell) assemble(pieces []piece) (out []field) {
	var f field
	begun := false
	end := func() {
		s.work += 16 + len(f.text)
		if begun {
			out = append(out, f)
		}
		f, begun = field{}, false
	}
	for _, p := range pieces {
		parts := []string{p.text}
		switch {
		case p.ends:
			end()
		case p.splits && len(s.get("IFS")) > 0 && p.text != "":
			parts[0] = unknown
		case p.splits:
			parts = strings.Split(strings.NewReplacer("\t", " ", "\n", " ").Replace(p.text), " ")
		}
		for i, part := range parts {
			if i > 0 {
				end()
			}
			if p.splits && part == "" {
				continue
			}
			if begun = true; len(f.text)+len(part) > maxSource { // variables that hold each other
				f.text, part = "", unknown
			}
			f.text += part
			f.glob = f.glob || p.glob || p.splits && strings.ContainsAny(part, "*?[")
			f.dyn = p.dynamic || f.dyn && !strings.Contains(part, "/")
		}
	}
	end()
	return out
}

// homeOf finds the home folder of a user at the start of a word. The others find characters with a
// backslash before them, in a word and within double quotes.
var (
	homeOf       = lazyregexp.New(`^~([^/\\]*)(/|$)`)
	escaped      = lazyregexp.New(`(?s)\\(?:\n|(.))`)
	quotedEscape = lazyregexp.New("\\\\(?:\n|([$`\"\\\\]))")
)

// plain tells whether a parameter is expanded with nothing done to it.
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
	case !plain(&bare):
		return anything
	case p.Exp == nil:
		return v
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if v.text == "" || strings.Contains(v.text, unknown) {
			v = s.one([]field{v, s.text(p.Exp.Word)})
		}
		return v
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		return v
	}
	return anything
}

// variable returns the value of a variable in the present turn.
func (s shell) variable(name string) field { return s.one(s.values(name)) }

// values returns the values that a variable may have in the current state.
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
		val.text = s.scope.Temp[0] // as programs take it
	default:
		val = anything
	}
	return []field{val}
}

// substituted returns the value of an expansion other than of a parameter.
func (s shell) substituted(p syntax.WordPart) field {
	switch p := p.(type) {
	case *syntax.ArithmExp:
		return field{text: number}
	case *syntax.CmdSubst:
		written := func(r *syntax.Redirect) bool { return r.Hdoc == nil }
		if len(p.Stmts) != 1 || slices.ContainsFunc(p.Stmts[0].Redirs, written) {
			return anything
		}
		if text, known := s.stdout(p.Stmts[0]); known {
			return field{text: strings.TrimRight(text, "\n")}
		}
	}
	return anything
}

// cleaner replaces marks by unknown.
var cleaner = strings.NewReplacer(fresh, unknown, number, unknown)

// clean replaces characters that could be taken for marks.
func clean(s string) string { return cleaner.Replace(s) }

// Words and patterns that need no quotes.
var (
	plainWord    = lazyregexp.New(`^[\w./=:,@%+^\x{81}-\x{10FFFF}-]+$`)
	plainPattern = lazyregexp.New(`^[\w./=:,@%+^*?[\]{}!\x{81}-\x{10FFFF}-]+$`)
)

// quote writes an argument as one would type it; patterns stay bare.
func quote(f field) string {
	if f.text == "" {
		return "''"
	}
	if plainWord.MatchString(f.text) || f.glob && plainPattern.MatchString(f.text) {
		return f.text
	}
	return "'" + strings.ReplaceAll(f.text, "'", `'\''`) + "'"
}
