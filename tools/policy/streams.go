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

// input is the standard input of a command.
type input struct {
	some  bool   // there is one that is not the terminal or a file
	known bool   // text is all of it
	text  string // with marks
	how   string // where it comes from, when not known: "" a pipe, else a reason
	below string // when its lines are the files below a folder: that, as each line begins
}

const downloads = "runs what it downloads"

// producer returns what a statement writes into a pipe or a file.
func (s shell) producer(stmt *syntax.Stmt) input {
	if text, known := s.stdout(stmt); known {
		return input{some: true, known: true, text: text}
	}
	return input{some: true, how: origin(stmt), below: s.below(stmt)}
}

// printsName finds commands that print a number, or the name of a branch or a commit.
var printsName = lazyregexp.New(`^(git (branch --show-current|(rev-parse|symbolic-ref) (--(abbrev-ref|short|verify) )?HEAD|merge-base [^- ]\S* \S+)|cat \S+\.pid)$`)

// stdout returns the text that a statement writes, if it is known.
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

// printed returns the text that echo or printf writes, if it is known.
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

// origin says how a stream came to be, for those origins that matter when a
// shell reads it.
func origin(n syntax.Node) (how string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			how = max(how, rules.Reason("origin", programName(w.Lit())))
		}
		return true
	})
	return how
}

// below tells the folder that all files lie in whose names a statement prints; empty
// when that is not plain. Each name begins with the folder, so it is no option.
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

// redirect judges one redirection and returns the input after it.
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
		return input{some: true} // a file that was opened before
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
