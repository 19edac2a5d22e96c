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

// producer returns the text that a statement writes into a pipe.
func (s shell) producer(stmt *syntax.Stmt) input {
	if in := s.stdout(stmt); in.known {
		return in
	}
	return input{some: true, how: origin(stmt), below: s.below(stmt)}
}

// printsName finds commands that print a number, or the name of a branch or a commit.
var printsName = lazyregexp.New(`^(git (branch --show-current|(rev-parse|symbolic-ref) (--(abbrev-ref|short|verify) )?HEAD|merge-base [^- ]\S* \S+)|cat \S+\.pid)$`)

// stdout returns the text that a statement writes, if it is known.
func (s shell) stdout(stmt *syntax.Stmt) input {
	prints := func(text string) input { return input{some: true, known: true, text: text} }
	if b, ok := stmt.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.AndStmt && firstWord(b.X) == "cd" && firstWord(b.Y) == "pwd" {
		inner := s.fork()
		inner.stmt(b.X)
		return prints(inner.pwd())
	}
	c, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return input{}
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, cmp.Or(w.Lit(), " "))
	}
	if printsName.MatchString(strings.Join(words, " ")) {
		return prints(number)
	}
	switch words[0] {
	case "echo", "printf":
		return s.printed(c.Args)
	case "cat":
		if i := slices.IndexFunc(stmt.Redirs, func(r *syntax.Redirect) bool { return r.Hdoc != nil || r.Op == syntax.WordHdoc }); i >= 0 && len(words) == 1 {
			return s.here(stmt.Redirs[i])
		}
	case "pwd":
		return prints(s.pwd())
	case "mktemp":
		for _, a := range s.expand(c.Args[1:]) {
			own := a.seen() && (a.text == "--tmpdir" || s.scope.places().OwnTemp(a.text))
			if !own && (!a.seen() || strings.Contains(a.text, "/") || strings.HasPrefix(a.text, "-p") || strings.HasPrefix(a.text, "--tmp")) {
				return input{}
			}
		}
		return prints(fresh)
	case "dirname":
		if o := parse(&rules.Program{}, s.expand(c.Args[1:])); len(o.rest) == 1 && len(o.list) == 0 && o.rest[0].seen() && o.rest[0].text != "" {
			return prints(path.Dir(paths.Slashes(o.rest[0].text)))
		}
	}
	return input{}
}

// printed returns the text that echo or printf writes, if it is known.
func (s shell) printed(args []*syntax.Word) input {
	f := s.expand(args)
	var words []string
	for _, a := range f[1:] {
		if paths.Marked(a.text) {
			return input{some: true}
		}
		words = append(words, a.text)
	}
	if f[0].text == "printf" {
		if len(words) == 0 || strings.HasPrefix(words[0], "-") {
			return input{some: true}
		}
		text, _, err := expand.Format(&expand.Config{}, words[0], words[1:])
		return input{some: true, known: err == nil, text: clean(text)}
	}
	escapes := false
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && strings.Trim(words[0][1:], "neE") == "" {
		escapes = escapes || strings.Contains(words[0], "e")
		words = words[1:]
	}
	text := strings.Join(words, " ")
	if escapes {
		text = code.Unescape(text)
	}
	return input{some: true, known: true, text: clean(text) + "\n"}
}

// origin says how a stream came to be, for those origins that matter when a
// shell reads it.
func origin(n syntax.Node) (how string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			for _, a := range c.Args {
				switch name := programName(a.Lit()); {
				case rules.In("downloads", name):
					how = downloads
				case how == "" && rules.In("decodes", name):
					how = "decodes text and runs it"
				}
			}
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
func (s shell) here(r *syntax.Redirect) input {
	in := input{some: true, known: true}
	switch delimiter := r.Word.Lit(); {
	case r.Op == syntax.WordHdoc:
		in.text = s.text(r.Word).text + "\n"
	case r.Hdoc == nil:
	case delimiter == "" || strings.Contains(delimiter, `\`): // quoted
		in.text = clean(r.Hdoc.Lit())
	default:
		in.text = s.text(&syntax.Word{Parts: []syntax.WordPart{&syntax.DblQuoted{Parts: r.Hdoc.Parts}}}).text
	}
	return in
}

// redirect judges one redirection and returns the input after it.
func (s shell) redirect(stmt *syntax.Stmt, r *syntax.Redirect) input {
	s.inner(r)
	target := s.text(r.Word).text
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return s.here(r)
	case syntax.RdrIn:
		switch {
		case strings.HasPrefix(target, "/dev/fd/"):
			return input{some: true, how: origin(r.Word)}
		case strings.HasPrefix(target, "/dev/tcp/"):
			return input{some: true, how: downloads}
		}
		if name := absolute(s.state, target); name != "" {
			s.sources = union(s.sources, []string{name})
			return s.made(name)
		}
		return input{}
	case syntax.DplIn:
		if target != "0" && target != "-" {
			return input{some: true} // a file that was opened before
		}
		return s.stdin
	case syntax.DplOut:
		if strings.Trim(target, "0123456789-"+number) == "" {
			return s.stdin
		}
	}
	to := field{text: target, glob: strings.ContainsAny(target, "*?[")}
	s.writes(&call{st: s.state}, to)
	in := s.stdout(stmt)
	if stmt.Cmd != nil && !in.some {
		in.how = origin(stmt.Cmd)
		in.some = in.how != ""
	}
	s.put(s.state, to, in, r.Op == syntax.AppOut)
	return s.stdin
}
