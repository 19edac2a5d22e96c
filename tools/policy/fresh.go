package policy

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A file that a command makes and then runs is judged like code that it runs at once, such
// as a download or shell code in a here-document.

const downloads = "runs what it downloads"

// below tells the folder that all files lie in whose names a statement prints; empty
// when that is not plain. Each name begins with the folder, so it is no option.
func (j *analyzer) below(st *state, s *syntax.Stmt) string {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		if c, ok := b.Y.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 && contains("sort uniq head tail grep", c.Args[0].Lit()) {
			return j.below(st, b.X)
		}
		return ""
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || len(c.Assigns) > 0 {
		return ""
	}
	args := j.expand(st, c.Args)
	var from []field
	switch c.Args[0].Lit() {
	case "find":
		from = starts(args[1:])
	case "grep", "rg":
		if o := parse(args[1:], "gteABCmf", "glob type regexp include exclude exclude-dir file max-count"); o.has("l", "files-with-matches") && !o.has("e", "regexp", "f", "file") && len(o.rest) > 1 {
			from = o.rest[1:]
		}
	}
	if len(from) != 1 || !from[0].seen() || strings.HasPrefix(from[0].text, "-") {
		return ""
	}
	return strings.TrimSuffix(from[0].text, "/") + "/"
}

// put remembers the text that a command writes into a file.
func (j *analyzer) put(st *state, target field, in input, more bool) {
	if target.open() || in.how == "" && !in.known {
		in = input{}
	}
	for _, name := range absolute(st, target.text) {
		if strings.ContainsAny(name, unknown+fresh+number) {
			continue
		}
		name = cleanPath(name)
		if old := j.files[name]; more && old.known && in.known {
			in.text = old.text + in.text
		} else if more && old.how != "" {
			in = old
		}
		if j.files == nil {
			j.files = map[string]input{}
		}
		j.files[name] = in
	}
}

// fromFile returns the input from a file, with the text if the command itself has written it.
func (j *analyzer) fromFile(names []string) input {
	for _, name := range names {
		if in, ok := j.files[cleanPath(name)]; ok && in.some {
			in.files = names
			return in
		}
	}
	return input{files: names}
}

// redirected returns the text that a statement writes into its output file.
func (j *analyzer) redirected(s *syntax.Stmt, st *state) input {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		switch c.Args[0].Lit() {
		case "echo", "printf":
			return j.printed(st, c.Args)
		case "cat":
			for _, r := range s.Redirs {
				if len(c.Args) == 1 && (r.Hdoc != nil || r.Op == syntax.WordHdoc) {
					return j.here(st, r)
				}
			}
		}
	}
	if s.Cmd != nil {
		if how := j.origin(s.Cmd); how != "" {
			return input{some: true, how: how}
		}
	}
	return input{}
}

// download remembers the files that curl or wget makes.
func (j *analyzer) download(c *call) {
	short, keeps := map[string]string{"curl": "o", "wget": "OP", "aria2c": "od"}[c.name], c.name != "curl"
	var to, dir string
	o := parse(c.args, short+"HXeUuA", "output output-document out output-dir directory-prefix dir header data request user-agent user")
	for _, opt := range o.list {
		switch name := opt.name; {
		case name == "output", name == "output-document", name == "out", name == short[:1] && !opt.double:
			to = opt.value.text
		case name == "output-dir", name == "directory-prefix", name == "dir", name == short[1:] && !opt.double:
			dir = opt.value.text + "/"
		case name == "O", strings.HasPrefix(name, "remote-name"):
			keeps = true
		}
	}
	if to == "" && !keeps {
		return // to its output
	}
	for _, a := range o.rest {
		name, _, _ := strings.Cut(a.text, "?")
		name = name[strings.LastIndexByte(name, '/')+1:]
		if to != "" {
			name = to
		}
		j.put(c.st, field{text: dir + name}, input{some: true, how: downloads}, false)
	}
}

// putDownloaded remembers a copy from elsewhere: a file, or one in a folder.
func (j *analyzer) putDownloaded(st *state, to field, name string) {
	in := input{some: true, how: downloads}
	j.put(st, to, in, false)
	j.put(st, field{text: to.text + "/" + name}, in, false)
}

// runsFile judges the running of a file that the command itself has made, and tells
// whether it is one.
func (j *analyzer) runsFile(c *call, f field) bool {
	if f.open() || j.files == nil {
		return false
	}
	for _, name := range absolute(c.st, f.text) {
		in, ok := j.files[cleanPath(name)]
		switch {
		case !ok || !in.some:
			continue
		case in.how != "":
			j.note(Asks, in.how, j.whole())
		case runsAsShell(c.name, name, in.text):
			j.shellFile(c, in.text)
		default:
			j.otherFile(c, in.text)
		}
		return true
	}
	return false
}

// otherFile judges a file that a program other than a shell runs.
func (j *analyzer) otherFile(c *call, text string) {
	name := c.name
	if first := firstLine(text); strings.HasPrefix(first, "#!") {
		words := strings.Fields(first[2:])
		if len(words) > 1 && programName(words[0]) == "env" {
			words = words[1:]
		}
		if len(words) > 0 {
			name = programName(words[0])
		}
	}
	inner := *c
	inner.name = name
	switch {
	case contains("python pypy ipython py", name):
		j.pythonCode(&inner, text)
	case contains("perl ruby php lua luajit", name) || in("javascript-program", name):
		j.scan(&inner, text)
	}
}

// runsAsShell tells whether a file is shell code: by the shell that runs it, else by
// its first line.
func runsAsShell(program, file, text string) bool {
	switch program {
	case "bash", "sh", "dash", "ksh", "mksh", "ash", "zsh", "source", ".":
		return true
	case path.Base(file):
		first := firstLine(text)
		return !strings.HasPrefix(first, "#!") || strings.HasSuffix(first, "sh") || strings.Contains(first, "sh ")
	}
	return false
}

// shellFile judges the text of a script. A script that does not parse is not blocked: it may
// be for another shell.
func (j *analyzer) shellFile(c *call, text string) {
	if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), ""); err == nil {
		j.code(c, field{text: text})
	}
}
