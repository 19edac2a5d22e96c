package policy

import (
	"slices"
	"strings"
)

// path returns the path that an expression stands for, as far as that is plain: made of
// strings and of the home folder, by pathlib or os.path.
func (p *pyReader) path(expr []pyToken) (string, bool) {
	r := pyPath{p: p, toks: expr}
	text, ok := r.sum()
	return text, ok && r.at == len(expr)
}

// variables notes those that are set once: to a text or path, or to a list.
func (p *pyReader) variables() {
	p.texts, p.lists = map[string]string{}, map[string][]pyToken{}
	times := map[string]int{}
	for i, t := range p.toks {
		if t.kind != 'n' {
			continue
		}
		if p.isStart(i) && p.tok(i+1).text == "=" && p.tok(i+2).text != "=" {
			times[t.text]++
			p.variable(t.text, p.statement(i+2))
			continue
		}
		for _, name := range p.bound(i) {
			times[name] += 2
		}
	}
	for name, n := range times {
		if n > 1 {
			delete(p.texts, name)
			delete(p.lists, name)
		}
	}
}

func (p *pyReader) variable(name string, expr []pyToken) {
	if text, ok := p.path(expr); ok {
		p.texts[name] = text
	} else if n := len(expr); n > 2 && expr[0].text == "[" && expr[n-1].text == "]" {
		p.lists[name] = expr
	}
}

// isStart tells whether a statement begins at token i.
func (p *pyReader) isStart(i int) bool {
	before := p.tok(i - 1)
	return before.kind == '\n' || before.kind == 0 || before.text == ";" || before.text == ":"
}

// statement returns the tokens from i to the end of the statement.
func (p *pyReader) statement(i int) []pyToken {
	end, depth := i, 0
	for ; end < len(p.toks); end++ {
		switch t := p.toks[end]; {
		case t.kind == '\n' && depth <= 0, t.text == ";" && t.kind == 'o':
			return p.toks[i:end]
		case t.kind == 'o' && strings.Contains("([{", t.text):
			depth++
		case t.kind == 'o' && strings.Contains(")]}", t.text):
			depth--
		}
	}
	return p.toks[min(i, len(p.toks)):end]
}

// bound returns the names that token i and those after it set in another way than by a
// plain assignment: as the target of a loop, a parameter, one of several, in place.
func (p *pyReader) bound(i int) (names []string) {
	t, next := p.toks[i], p.tok(i+1)
	until := ""
	switch {
	case t.text == "for":
		until = "in"
	case t.text == "def" || t.text == "lambda":
		until = ":"
	case t.text == "as" || t.text == "global" || t.text == "nonlocal" || t.text == "del":
		return []string{next.text}
	case next.text == "," && p.isStart(i):
		until = "="
	case next.kind == 'o' && strings.Contains("+-*/%|&:^@", next.text) && p.tok(i+2).text == "=",
		next.text == "[" && p.isStart(i), next.text == "." && contains("append extend insert pop remove clear reverse", p.tok(i+2).text):
		return []string{t.text}
	default:
		return nil
	}
	for k := i; k < len(p.toks) && p.toks[k].text != until && p.toks[k].kind != '\n'; k++ {
		if p.toks[k].kind == 'n' {
			names = append(names, p.toks[k].text)
		}
	}
	return names
}

// receiver returns the expression whose method the dotted name at the current token is.
func (p *pyReader) receiver() []pyToken {
	_, k := p.dotted(p.at)
	end := k - 2 // the dot before the method
	i := end - 1
	for depth := 0; i >= 0; i-- {
		switch t := p.toks[i]; {
		case t.text == ")" || t.text == "]":
			depth++
		case t.text == "(" || t.text == "[":
			depth--
		}
		if depth < 0 || depth == 0 && p.tok(i-1).text != "." && p.tok(i).text != "." && (p.tok(i).text != "(" || p.tok(i-1).kind != 'n') {
			break
		}
	}
	if i < 0 || end <= i {
		return nil
	}
	return p.toks[i:end]
}

// pyPath reads an expression.
type pyPath struct {
	p    *pyReader
	toks []pyToken
	at   int
}

func (r *pyPath) next() pyToken {
	if r.at < len(r.toks) {
		return r.toks[r.at]
	}
	return pyToken{}
}

func (r *pyPath) take(text string) bool {
	if t := r.next(); t.kind == 'o' && t.text == text {
		r.at++
		return true
	}
	return false
}

// sum reads a / b and a + b.
func (r *pyPath) sum() (string, bool) {
	text, ok := r.value()
	for ok {
		between := ""
		switch {
		case r.take("/"):
			between = "/"
		case r.take("+"):
		default:
			return text, true
		}
		var more string
		if more, ok = r.value(); between != "" && strings.HasPrefix(more, "/") {
			text = more
		} else {
			text += between + more
		}
	}
	return "", false
}

func (r *pyPath) value() (text string, ok bool) {
	switch t := r.next(); {
	case t.kind == 's':
		for ; r.next().kind == 's'; r.at++ {
			text += r.next().text
		}
		return text, true
	case r.take("("):
		if text, ok = r.sum(); !ok || !r.take(")") {
			return "", false
		}
	case t.kind == 'n':
		if text, ok = r.named(); !ok {
			return "", false
		}
	default:
		return "", false
	}
	for r.take(".") { // methods of a path
		name := r.next().text
		r.at++
		args, ok := r.args()
		switch {
		case !ok:
			return "", false
		case name == "joinpath":
			text = strings.Join(append([]string{text}, args...), "/")
		case name == "expanduser":
			text = r.expanded(text)
		case !slices.Contains([]string{"resolve", "absolute"}, name):
			return "", false
		}
	}
	return text, true
}

// named reads an expression that begins with a name.
func (r *pyPath) named() (string, bool) {
	if text, ok := r.p.texts[r.next().text]; ok {
		r.at++
		return text, true
	}
	name := r.p.resolve(r.next().text)
	r.at++
	for r.at+1 < len(r.toks) && r.toks[r.at].text == "." && r.toks[r.at+1].kind == 'n' && !slices.Contains([]string{"expanduser", "joinpath", "resolve", "absolute"}, r.toks[r.at+1].text) ||
		name == "os.path" && r.at+1 < len(r.toks) {
		name += "." + r.toks[r.at+1].text
		r.at += 2
	}
	name = r.p.resolve(name)
	if name == "os.environ" && r.take("[") {
		text, ok := r.sum()
		return r.p.j.scope.Home, ok && text == "HOME" && r.take("]")
	}
	args, ok := r.args()
	if !ok {
		return "", false
	}
	one := len(args) == 1
	switch name {
	case "pathlib.Path", "Path", "pathlib.PosixPath", "pathlib.PurePath", "os.path.join":
		return strings.Join(args, "/"), len(args) > 0
	case "os.path.expanduser", "os.path.expandvars":
		return r.expanded(strings.Join(args, "")), one
	case "os.path.abspath", "os.path.realpath", "os.path.normpath", "str", "os.fspath":
		return strings.Join(args, ""), one
	case "os.environ.get", "os.getenv":
		return r.p.j.scope.Home, len(args) > 0 && args[0] == "HOME"
	case "pathlib.Path.home", "Path.home":
		return r.p.j.scope.Home, len(args) == 0
	case "pathlib.Path.cwd", "Path.cwd", "os.getcwd":
		return ".", len(args) == 0
	}
	return "", false
}

// args reads the arguments of a call.
func (r *pyPath) args() (list []string, ok bool) {
	if !r.take("(") {
		return nil, false
	}
	for !r.take(")") {
		text, ok := r.sum()
		if !ok {
			return nil, false
		}
		list = append(list, text)
		if !r.take(",") && r.next().text != ")" {
			return nil, false
		}
	}
	return list, true
}

// expanded puts the home folder in place of a ~ or $HOME that a path begins with.
func (r *pyPath) expanded(text string) string {
	for _, prefix := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(text, prefix); ok && (rest == "" || rest[0] == '/') {
			return r.p.j.scope.Home + rest
		}
	}
	return text
}
