package code

import (
	"slices"
	"strings"
)

// args returns the arguments of a call whose bracket is token i, or the parts of a list there, and
// the index after them.
// Without a bracket the arguments are those up to the end of the statement, except in Python.
func (r *reader) args(i int) (list [][]token, end int) {
	bare := r.sign(i) != "(" && r.sign(i) != "["
	if !bare {
		i++
	}
	k, depth := i, 0
	for ; k < len(r.toks) && !r.spent(1); k++ {
		switch s := r.sign(k); {
		case bare && depth == 0 && (s == ";" || r.toks[k].kind == lineToken):
			return split(r.toks[i:k]), k
		case s == "(" || s == "[" || s == "{":
			depth++
		case s == ")" || s == "]" || s == "}":
			if depth--; depth < 0 {
				return split(r.toks[i:k]), k + 1
			}
		}
	}
	return split(r.toks[i:k]), k
}

// split returns the parts of an expression between its commas. It drops names of arguments.
func split(toks []token) (list [][]token) {
	depth, start := 0, 0
	end := func(i int) {
		one := toks[start:i]
		for len(one) > 0 && one[0].kind == lineToken {
			one = one[1:]
		}
		if start = i + 1; len(one) > 0 {
			list = append(list, one)
		}
	}
	for i, t := range toks {
		if t.kind != signToken {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",":
			if depth == 0 {
				end(i)
			}
		}
	}
	end(len(toks))
	return list
}

// value returns an argument without its name, and whether it has one.
func value(arg []token) ([]token, bool) {
	if len(arg) > 2 && arg[0].kind == nameToken && arg[1].text == "=" && arg[2].text != "=" {
		return arg[2:], true
	}
	return arg, false
}

// text returns the text or path that an expression stands for. It must be made of texts, of
// variables that are set once, of the home folder, and of functions that join these.
func (r *reader) text(expr []token) (out string, ok bool) {
	expr, _ = value(expr)
	inner := *r
	inner.toks = expr
	join := false
	add := func(s string) {
		switch {
		case join && !strings.HasPrefix(s, "/"):
			out += "/" + s
		case join:
			out = s
		default:
			out += s
		}
		join, ok = false, true
		r.spent(len(out) / 16)
	}
	for i := 0; i < len(expr) && !r.spent(1); i++ {
		switch t := expr[i]; {
		case t.kind == textToken:
			add(t.text)
		case t.kind == nameToken:
			full, end := inner.chain(i)
			if inner.sign(i-1) == "." {
				full = "." + full
			}
			switch known, set := r.texts[full]; {
			case r.in("code-home", full):
				add(Home)
			case r.in("code-environment", full):
				if inner.tok(end+1).text != "HOME" {
					return "", false
				}
				add(Home)
				end += 2
			case r.in("code-join", full):
				join = ok
			case r.in("code-path", full):
			case set && end == i+1:
				add(known)
			default:
				return "", false
			}
			i = end - 1
		case t.kind == lineToken:
		case t.kind != signToken || !strings.Contains("()[]+./,", t.text):
			return "", false
		case t.text == "/" || t.text == ",":
			join = ok
		}
	}
	return out, ok && len(out) <= maxText && !strings.Contains(out, Unknown)
}

// receiver returns the expression whose method stands before token end.
func (r *reader) receiver(end int) []token {
	end -= 2
	depth, i := 0, end-1
	for ; i >= 0 && !r.spent(1); i-- {
		switch {
		case r.sign(i) == ")" || r.sign(i) == "]":
			depth++
		case r.sign(i) == "(" || r.sign(i) == "[":
			depth--
		}
		if depth < 0 || depth == 0 && r.toks[i].kind == lineToken {
			return r.toks[i+1 : max(end, i+1)]
		}
		if depth == 0 && r.sign(i-1) != "." && r.sign(i) != "." && !(r.sign(i) == "(" && r.tok(i-1).kind == nameToken) {
			return r.toks[i:max(end, i)]
		}
	}
	return nil
}

func (r *reader) write(expr []token) {
	if path, ok := r.text(expr); ok {
		r.add(Write, "", path)
	} else {
		r.writesAny()
	}
}

// writes notes a call that writes files.
func (r *reader) writes(effect string, args [][]token) {
	if effect == "write-first" {
		args = args[:min(1, len(args))]
	} else if effect == "write-rest" {
		args = args[min(1, len(args)):]
	}
	if len(args) == 0 {
		r.writesAny()
	}
	for _, arg := range args {
		if path, ok := r.text(arg); effect == "move" && ok {
			r.add(Delete, "", path)
		}
		if _, named := value(arg); !named || effect == "write-first" {
			r.write(arg)
		}
	}
}

// open notes the opening of a file to write it. In Perl, the mode stands before the path.
func (r *reader) open(args [][]token) {
	path := 0
	for i, arg := range args {
		mode, ok := r.text(arg)
		if !ok && len(arg) == 1 {
			mode = arg[0].text
		}
		name := strings.TrimLeft(mode, "+<>")
		switch {
		case slices.ContainsFunc(arg, func(t token) bool { return t.kind == nameToken && r.in("code-write-mode", t.text) }),
			i > 0 && ok && r.in("code-write-mode", strings.Trim(mode, "bt")):
			r.write(args[path])
			return
		case len(name) == len(mode) || strings.HasPrefix(mode, "<"):
		case strings.TrimSpace(name) == "" || strings.HasPrefix(name, ":"):
			if path = i + 1; path < len(args) {
				r.write(args[path])
			}
			return
		case ok:
			r.add(Write, "", strings.TrimSpace(name))
			return
		default:
			r.writesAny()
			return
		}
	}
}

// start notes the program or the shell code that a call starts.
func (r *reader) start(args [][]token) {
	if len(args) == 0 {
		r.ask(startsOther)
		return
	}
	first, _ := value(args[0])
	if known, ok := r.known[first[0].text]; ok && len(first) == 1 {
		first = known
	}
	inner := *r
	inner.toks = first
	if full, end := inner.chainAt(); full == "shlex.split" {
		list, _ := inner.args(end)
		if code, ok := r.text(slices.Concat(list...)); ok {
			r.add(Shell, "", code)
		} else {
			r.ask(startsOther)
		}
		return
	}
	var argv []string
	if inner.sign(0) == "[" {
		argv = inner.list()
	} else if code, ok := r.text(first); !ok {
		r.ask(startsOther)
		return
	} else if argv = []string{code}; len(args) == 1 || strings.ContainsAny(code, " \t\n;&|") {
		r.add(Shell, "", code)
		return
	} else if argv = append(argv, r.argv(args[1:])...); len(argv) == 1 {
		r.add(Shell, "", code)
		return
	}
	r.add(Start, "", argv...)
}

// list returns the parts of the list that the tokens begin with.
func (r *reader) list() []string {
	parts, end := r.args(0)
	list := r.argv(parts)
	if end < len(r.toks) {
		list = append(list, Unknown)
	}
	return list
}

// argv returns the arguments of a program as far as they are known. It leaves out settings
// and functions to call back.
func (r *reader) argv(args [][]token) (list []string) {
	for _, arg := range args {
		_, named := value(arg)
		inner := *r
		inner.toks = arg
		full, _ := inner.chainAt()
		text, ok := r.text(arg)
		switch {
		case named:
		case inner.sign(0) == "[":
			list = append(list, inner.list()...)
		case ok:
			list = append(list, text)
		case full == "sys.executable":
			list = append(list, "python3")
		case r.javascript && (arg[0].text == "(" || full == "function" || full == "async"),
			arg[0].text == "{" && !slices.ContainsFunc(arg, func(t token) bool { return t.text == "args" }):
		default:
			list = append(list, Unknown)
		}
	}
	return list
}

// chainAt reads the name that the tokens begin with.
func (r *reader) chainAt() (string, int) {
	if len(r.toks) == 0 || r.toks[0].kind != nameToken {
		return "", 0
	}
	return r.chain(0)
}

// get judges access to a member whose name is a text, as by getattr.
func (r *reader) get(full string, args [][]token) {
	i := 1
	if strings.HasPrefix(full, "operator.") {
		i = 0
	}
	if len(args) <= i {
		r.ask(madeUp + " (" + full + ")")
		return
	}
	text, ok := r.text(args[i])
	switch {
	case !ok && i > 0 && r.plain(args[0]):
	case !ok, strings.HasPrefix(text, "__"):
		r.ask(madeUp + " (" + full + ")")
	case r.in("python-dangerous-name", text):
		r.ask("calls " + text + " by a detour")
	}
}

// plain reports whether an argument is a variable, or an attribute of one, that stands for no
// module except hermes_tools.
func (r *reader) plain(arg []token) bool {
	inner := *r
	inner.toks = arg
	if full, end := inner.chainAt(); full == "" || end < len(arg) || strings.HasPrefix(full, "__") {
		return false
	}
	_, module := r.names[arg[0].text]
	return !module || arg[0].text == "hermes_tools"
}
