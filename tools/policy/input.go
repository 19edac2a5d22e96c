package policy

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// input is the standard input of a command.
type input struct {
	some  bool     // there is one that is not the terminal or a file
	known bool     // text is all of it
	text  string   // with marks
	how   string   // where it comes from, when not known: "" a pipe, else a reason
	below string   // when its lines are the files below a folder: that, as each line begins
	files []string // those that it may be the content of
}

// producer returns the text that a statement writes into a pipe.
func (j *analyzer) producer(s *syntax.Stmt, st *state) input {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		switch c.Args[0].Lit() {
		case "echo", "printf":
			if in := j.printed(st, c.Args); in.known {
				return in
			}
		case "cat":
			if len(c.Args) == 1 && len(s.Redirs) == 1 && (s.Redirs[0].Hdoc != nil || s.Redirs[0].Op == syntax.WordHdoc) {
				return j.here(st, s.Redirs[0])
			}
		}
	}
	return input{some: true, how: j.origin(s), below: j.below(st, s), files: j.sources(s, st)}
}

// printed returns the text that echo or printf writes, if it is known.
func (j *analyzer) printed(st *state, args []*syntax.Word) input {
	f := j.expand(st, args)
	if len(f) == 0 {
		return input{some: true}
	}
	var words []string
	for _, a := range f[1:] {
		if strings.ContainsAny(a.text, unknown+fresh+number) {
			return input{some: true}
		}
		words = append(words, a.text)
	}
	if f[0].text == "printf" {
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
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
		text = ansiC(text)
	}
	return input{some: true, known: true, text: clean(text) + "\n"}
}

// origin says how a stream came to be, for those origins that matter when a
// shell reads it.
func (j *analyzer) origin(n syntax.Node) string {
	how := ""
	syntax.Walk(n, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		for _, a := range c.Args {
			switch programName(a.Lit()) {
			case "curl", "wget", "fetch", "aria2c", "http", "https", "httpie", "nc", "ncat", "netcat", "socat", "lynx", "ftp", "scp", "ssh":
				how = "runs what it downloads"
			case "base64", "base32", "xxd", "uudecode", "openssl", "gpg", "gunzip", "zcat", "gzip", "bunzip2", "xz", "rev", "tr", "hexdump", "od":
				if how == "" {
					how = "decodes text and runs it"
				}
			}
		}
		return true
	})
	return how
}

// here returns the text of a here-document or here-string.
func (j *analyzer) here(st *state, r *syntax.Redirect) input {
	if r.Op == syntax.WordHdoc {
		return input{some: true, known: true, text: j.text(st, r.Word).text + "\n"}
	}
	if r.Hdoc == nil {
		return input{some: true, known: true}
	}
	if quotedDelimiter(r.Word) {
		return input{some: true, known: true, text: clean(r.Hdoc.Lit())}
	}
	e := expander{j: j, st: st, whole: true}
	e.quoted(&syntax.DblQuoted{Parts: r.Hdoc.Parts})
	return input{some: true, known: true, text: string(e.cur)}
}

func quotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		case *syntax.Lit:
			if strings.Contains(p.Value, `\`) {
				return true
			}
		}
	}
	return false
}

// redirect judges one redirection and returns the input after it.
func (j *analyzer) redirect(s *syntax.Stmt, r *syntax.Redirect, st *state) input {
	j.words(st, r.Word, r.Hdoc)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return j.here(st, r)
	case syntax.RdrIn:
		if strings.HasPrefix(j.text(st, r.Word).text, "/dev/fd/") {
			return input{some: true, how: j.origin(r.Word)}
		}
		if strings.HasPrefix(j.text(st, r.Word).text, "/dev/tcp/") {
			return input{some: true, how: "runs what it downloads"}
		}
		return j.fromFile(absolute(st, j.text(st, r.Word).text))
	case syntax.DplIn:
		if target := j.text(st, r.Word).text; target != "0" && target != "-" {
			return input{some: true} // a file that was opened before
		}
		return j.stdin
	case syntax.DplOut:
		if target := j.text(st, r.Word).text; strings.Trim(target, "0123456789-"+number) == "" || r.Op == syntax.DplIn {
			return j.stdin
		}
	}
	j.eachEnvironment(func() {
		target := j.text(st, r.Word)
		target.glob = strings.ContainsAny(target.text, "*?[")
		c := &call{st: st, words: j.statementWords(s, st, r, target)}
		j.writes(c, target)
		j.put(st, target, j.redirected(s, st), r.Op == syntax.AppOut)
		j.makes(st, target, j.sources(s, st)...)
	})
	return j.stdin
}

// statementWords writes a statement and one of its redirections for a key. A
// here-document makes it unseen, so that the key is the whole source.
func (j *analyzer) statementWords(s *syntax.Stmt, st *state, r *syntax.Redirect, target field) []field {
	words := []field{{text: unknown}}
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		words = append(j.assigned(st, c.Assigns), j.expand(st, c.Args)...)
	} else if s.Cmd == nil {
		words = nil
	}
	for _, other := range s.Redirs {
		if other.Hdoc != nil || other.Op == syntax.WordHdoc {
			words = []field{{text: unknown}}
		}
	}
	return append(words, field{text: r.Op.String(), glob: true, dyn: true}, target)
}
