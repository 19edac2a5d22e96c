package code

import (
	"slices"
	"strings"
)

// args returns the arguments of a call whose bracket is token i, or the parts of a list there, and the index
// behind them. Without a bracket they end with the statement.
func (r *reader) args(i int) (list [][]token, end int) {
	bare, depth := !r.is(i, "(["), 0
	if !bare {
		i++
	}
	begin := i
	for ; depth >= 0 && i < len(r.toks) && !r.spent(1); i++ {
		t := r.toks[i]
		switch {
		case bare && depth == 0 && r.ends(i):
			depth = -1
		case opens(t):
			depth++
		case closes(t):
			depth--
		}
		for begin < i && r.toks[begin].kind == lineToken {
			begin++
		}
		if depth < 0 || depth == 0 && t.kind == signToken && t.text == "," {
			list, begin = append(list, r.toks[begin:i]), i+1
		}
	}
	if depth >= 0 {
		list = append(list, r.toks[min(begin, i):i])
	}
	return slices.DeleteFunc(list, func(one []token) bool { return len(one) == 0 }), i
}

// value returns an argument without its name, and whether it has one.
func value(arg []token) ([]token, bool) {
	if len(arg) > 2 && arg[0].kind == nameToken && arg[1].text == "=" && arg[2].text != "=" {
		return arg[2:], true
	}
	return arg, false
}

// text returns the text or path that an expression stands for. It must be made of texts, of variables that
// are set to one, of the home folder, and of functions that join these. Unless it may guess, the variables
// are set once.
func (r *reader) text(expression []token, guess bool) (out string, ok bool) {
	expression, _ = value(expression)
	join := false
	add := func(s string) {
		if join && !strings.HasPrefix(s, "/") {
			out += "/"
		} else if join {
			out = ""
		}
		out, join, ok = out+s, false, true
		r.spent(len(out) / 16)
	}
	for i := 0; i < len(expression) && !r.spent(1); i++ {
		t := expression[i]
		switch known := r.values[t.text]; {
		case t.kind == textToken:
			add(t.text)
		case t.kind == nameToken && len(known) == 1 && (guess || r.once(t.text, true)):
			add(known[0].text)
		case t.kind == lineToken:
		case t.kind == nameToken:
			meanings := r.meanings(t.text, 0)
			full := meanings[len(meanings)-1]
			text, known := r.rules("code-text", full)
			switch {
			case known:
				add(text)
			case r.in("code-environment", full) && i+3 < len(expression) && expression[i+2].text == "HOME":
				add(Home)
				i += 3
			case r.in("code-join", full):
				join = ok
			case !r.in("code-path", full):
				return "", false
			}
		case t.kind != signToken || !strings.Contains("()[]+./,", t.text):
			return "", false
		case t.text == "/" || t.text == ",":
			join = ok
		}
	}
	return out, ok && len(out) <= maxText && !strings.Contains(out, Unknown)
}

// receiver returns the expression whose method is token i.
func (r *reader) receiver(i int) []token {
	if name := r.tok(i).text; strings.LastIndexByte(name, '.') > 0 {
		return []token{{kind: nameToken, text: name[:strings.LastIndexByte(name, '.')]}}
	}
	depth := 0
	for k := i - 1; k >= 0 && !r.spent(1); k-- {
		if t := r.toks[k]; closes(t) {
			depth++
		} else if opens(t) {
			depth--
		}
		if t := r.toks[k]; depth < 0 || depth == 0 && t.kind == lineToken {
			return r.toks[k+1 : i]
		} else if member := t.kind == nameToken && t.text[0] == '.'; depth == 0 && !member && !(opens(t) && r.tok(k-1).kind == nameToken) {
			return r.toks[k:i]
		}
	}
	return nil
}

// writes notes that files are written, and also moved away. If a path may have another value, all paths in the code count.
func (r *reader) writes(files [][]token, moved bool) {
	if len(files) == 0 {
		r.writesAny()
	}
	for i, file := range files {
		sure := !slices.ContainsFunc(file, func(t token) bool { return r.values[t.text] != nil && !r.once(t.text, false) })
		path, ok := r.text(file, true)
		if ok {
			r.add(Write, "", path)
		}
		if _, named := value(file); !(ok && sure) && (ok || i == 0 || !named) { // a name is that of a setting, such as exist_ok=True
			r.writesAny()
		}
		if ok && moved {
			r.add(Delete, "", path)
		}
	}
}

// open notes the opening of a file to write it. In Perl, the mode stands before the path, or at its begin.
func (r *reader) open(args [][]token) {
	for i, arg := range args {
		mode, known := r.text(arg, false)
		if !known && len(arg) == 1 {
			mode = arg[0].text
		}
		name := strings.TrimLeft(mode, "+<>")
		command := strings.Trim(mode, "|-")
		switch {
		case slices.ContainsFunc(arg, func(t token) bool {
			return t.kind == nameToken && r.in("code-write-mode", t.text[strings.LastIndexByte(t.text, '.')+1:])
		}),
			i > 0 && known && r.in("code-write-mode", strings.Trim(mode, "bt")), r.python && len(arg) > 0 && arg[0].text == "*":
			r.writes(args[:1], false)
		case !r.python && strings.Contains(mode, "|") && command == "":
			r.start(args[i+1:])
		case !r.python && (strings.HasPrefix(mode, "|") || strings.HasSuffix(mode, "|")):
			r.add(Shell, "", command)
		case len(name) == len(mode) || mode[0] == '<':
			continue
		case strings.TrimSpace(name) == "" || name[0] == ':':
			r.writes(args[i+1:], false)
		case known:
			r.add(Write, "", strings.TrimSpace(name))
		default:
			r.writesAny()
		}
		return
	}
}

// start notes the program or the shell code that a call starts.
func (r *reader) start(args [][]token) {
	if len(args) == 0 {
		r.ask(startsOther)
		return
	}
	first, _ := value(args[0])
	if known := r.values[first[0].text]; len(known) > 1 && len(first) == 1 && r.once(first[0].text, true) {
		first = known
	}
	code, ok := r.text(first, false)
	rest := r.argv(args[1:])
	switch {
	case first[0].kind == signToken && (first[0].text == "[" || r.python && first[0].text == "("):
		r.add(Start, "", r.argv([][]token{first})...)
	case !ok:
		r.ask(startsOther)
	case len(rest) == 0 || strings.ContainsAny(code, " \t\n;&|"):
		r.add(Shell, "", code)
	default:
		r.add(Start, "", slices.Insert(rest, 0, code)...)
	}
}

// argv returns the arguments of a program as far as they are known. It leaves out settings, and functions to
// call back.
func (r *reader) argv(args [][]token) (list []string) {
	for _, arg := range args {
		_, named := value(arg)
		text, ok := r.text(arg, false)
		first := arg[0]
		switch {
		case named:
		case first.kind == signToken && (first.text == "[" || r.python && first.text == "("):
			inner := reader{language: r.language, toks: arg}
			parts, end := inner.args(0)
			list = append(list, r.argv(parts)...)
			if end < len(arg) {
				list = append(list, Unknown)
			}
		case ok:
			list = append(list, text)
		case first.text == "{" && !slices.ContainsFunc(arg, func(t token) bool { return t.text == "args" }):
		case r.javascript && (first.text == "(" || first.text == "function" || first.text == "async"):
		default:
			list = append(list, Unknown)
		}
	}
	return list
}

// module judges the loading of a module by a text.
func (r *reader) module(reason string, args [][]token) {
	name, known := "", false
	if len(args) > 0 && (r.python || len(args) == 1 && len(args[0]) == 1) {
		name, known = r.text(args[0], false)
	}
	first, _, _ := strings.Cut(name, ".")
	if !known || r.python && r.in("python-module", first) || r.javascript && r.in("javascript-module", strings.TrimPrefix(name, "node:")) {
		r.ask(reason)
	}
}

// get judges access to a member whose name is a text, as by getattr.
func (r *reader) get(full string, args [][]token) {
	i := 1
	if strings.HasPrefix(full, "operator.") {
		i = 0
	}
	name, known := "", false
	if i < len(args) {
		name, known = r.text(args[i], false)
	}
	variable := func(arg []token) bool {
		first, _, _ := strings.Cut(r.meanings(arg[0].text, 0)[0], ".")
		return len(arg) == 1 && arg[0].kind == nameToken && (!r.modules[first] || first == "hermes_tools")
	}
	switch {
	case known && r.in("python-dangerous-name", name):
		r.ask("calls " + name + " by a detour")
	case !known && i == 1 && len(args) > 1 && variable(args[0]):
	case !known, strings.HasPrefix(name, "__"):
		r.ask(madeUp + " (" + full + ")")
	}
}
