package code

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// value is an expression with its text, if known.
type value struct {
	name  string // of an argument, as in exist_ok=True
	toks  []token
	list  bool
	text  string // or path
	known bool   // it has a text
	sure  bool   // it has no other: all variables in it are set once
}

// args returns the arguments of a call whose bracket is token i, or the parts of a list there. Without
// a bracket they end with the statement.
func (r *reader) args(toks []token, i int) (list []value) {
	bare := !at(toks, i).is("([")
	if !bare {
		i++
	}
	for begin := i; ; i++ {
		t := at(toks, i)
		comma, last := t.is(","), i >= len(toks) || t.is(closing) || bare && t.ends() || r.spent(1)
		if (comma || last) && begin < i {
			list = append(list, r.value(toks[begin:i]))
		}
		switch {
		case last:
			return list
		case comma || begin == i && t.kind == lineToken:
			begin = i + 1
		}
		i = min(i+max(0, t.pair), len(toks)-1)
	}
}

// value evaluates an expression. A variable with a list counts if it is set once and otherwise only passed on.
func (r *reader) value(expression []token) value {
	v := value{toks: expression}
	for len(v.toks) > 2 && v.toks[0].kind == nameToken && v.toks[1].text == "=" && v.toks[2].text != "=" { // as in a = b = "c"
		v.name, v.toks = cmp.Or(v.name, v.toks[0].text), v.toks[2:]
	}
	first := at(v.toks, 0)
	if set := r.values[first.text]; len(v.toks) == 1 && set.list && r.sets[first.text] == 1 && r.sets[first.text+"."] == 0 {
		v.toks, v.list = set.toks, true
		return v
	}
	v.list = first.is("[") || r.python && first.is("(") && first.pair == len(v.toks)-1
	v.text, v.known, v.sure = r.text(v.toks)
	return v
}

// text returns the text or path of an expression, and whether it is certain. It accepts only texts,
// variables set to a text, the home directory, and functions that join these.
func (r *reader) text(expression []token) (out string, known, sure bool) {
	join := false
	add := func(s string) {
		if join && !strings.HasPrefix(s, "/") {
			out += "/"
		} else if join {
			out = ""
		}
		out, join, known = out+s, false, true
		r.spent(len(out) / 16)
	}
	sure = true
	for i := 0; i < len(expression) && !r.spent(1); i++ {
		t := expression[i]
		switch set := r.values[t.text]; {
		case t.kind == textToken:
			add(t.text)
		case t.kind == nameToken && set.known && !set.list:
			add(set.text)
			sure = sure && set.sure && r.sets[t.text] == 1
		case t.kind == lineToken:
		default:
			meanings := r.meanings(t.text, 0)
			full := meanings[len(meanings)-1]
			part, is := rules.List("code-part")[full]
			if text, named := rules.List("code-part")[full+"."+at(expression, i+2).text]; named && at(expression, i+1).is("([") {
				part, is, i = text, true, i+3
			}
			switch {
			case !is || t.kind > signToken:
				return "", false, false
			case part == "/":
				join = known
			case part != "":
				add(part)
			}
		}
	}
	if rest, below := strings.CutPrefix(out, "~"); below && (rest == "" || rest[0] == '/') {
		out = r.home + rest
	}
	return out, known && len(out) <= maxText && !strings.Contains(out, Unknown), sure
}

// receiver returns the expression whose method is token i.
func (r *reader) receiver(i int) []token {
	if dot := strings.LastIndexByte(r.tok(i).text, '.'); dot > 0 {
		return []token{{kind: nameToken, text: r.tok(i).text[:dot]}}
	}
	for k := i - 1; k >= 0 && !r.spent(1); k-- {
		k += min(0, r.toks[k].pair)
		t := r.toks[k]
		called := t.is(opening) && r.tok(k-1).kind == nameToken
		if member := t.kind == nameToken && t.text[0] == '.'; !member && !called {
			return r.toks[k:i]
		}
	}
	return nil
}

// writes notes files that are written, deleted or moved away. If a path may have another value, all
// paths in the code count.
func (r *reader) writes(action string, files []value) {
	if len(files) == 0 {
		r.writesAny()
	}
	for i, v := range files {
		for _, one := range slices.Compact([]string{action, "writes"}) {
			if v.known {
				r.do(one, v.text)
			}
		}
		if !(v.known && v.sure) && (v.known || i == 0 || v.name == "") { // a named argument is a setting, such as exist_ok=True
			r.writesAny()
		}
	}
}

// opens notes the opening of a file to write it. In Perl, the mode comes before the path, or at its
// start.
func (r *reader) opens(args []value) {
	for i, v := range args {
		mode := v.text
		if !v.known && len(v.toks) == 1 {
			mode = v.toks[0].text
		}
		command, file := strings.Trim(mode, "|-"), strings.TrimSpace(strings.TrimLeft(mode, "+<>"))
		switch {
		case r.has("code-write-mode", v.toks), rules.In("code-write-mode", v.name), i > 0 && v.known && rules.In("code-write-mode", strings.Trim(mode, "bt")),
			r.python && at(v.toks, 0).is("*"), r.numbered(args[:i], v.toks):
			r.writes("writes", args[:1])
		case r.python:
			continue
		case command == "" && mode != command:
			r.starts(args[i+1:])
		case strings.HasPrefix(mode, "|"), strings.HasSuffix(mode, "|"):
			r.do("code", command)
		case !strings.HasPrefix(mode, ">") && !strings.HasPrefix(mode, "+"):
			continue
		case file == "" || file[0] == ':':
			r.writes("writes", args[i+1:])
		default:
			r.writes("writes", []value{{text: file, known: v.known, sure: v.sure}})
		}
		return
	}
}

// numbered reports whether an argument is the number of a mode, such as 577 in os.open(path, 577).
// In Perl, a handle comes before the path.
func (r *reader) numbered(before []value, toks []token) bool {
	if len(before) != 1 && (len(before) != 2 || before[0].known) {
		return false
	}
	if len(toks) == 1 && toks[0].kind == nameToken {
		toks = r.values[toks[0].text].toks
	}
	return slices.ContainsFunc(toks, func(t token) bool {
		return t.kind == signToken && t.text != "" && '0' <= t.text[0] && t.text[0] <= '9' && strings.Trim(t.text, "0") != ""
	})
}

// starts notes the program or shell code started by a call.
func (r *reader) starts(args []value) {
	list := len(args) > 0 && args[0].list
	if list {
		args = args[:1]
	}
	switch words := r.argv(args); {
	case !list && (len(words) == 0 || words[0] == Unknown):
		r.do.ask(startsOther)
	case len(words) == 1 && args[0].toks[0].text != "[", !list && strings.ContainsAny(words[0], " \t\n;&|"): // also a text in brackets
		r.do("code", words[0])
	default:
		r.do("starts", words...)
	}
}

// argv returns a program and its arguments as far as they are known. After the program, it leaves
// out settings and callbacks.
func (r *reader) argv(args []value) (list []string) {
	for i, v := range args {
		switch first := v.toks[0].text; {
		case i > 0 && v.name != "":
		case v.list:
			if list = append(list, r.argv(r.args(v.toks, 0))...); v.toks[0].pair < len(v.toks)-1 {
				list = append(list, Unknown)
			}
		case v.known && v.sure:
			list = append(list, v.text)
		case i > 0 && first == "{" && !slices.ContainsFunc(v.toks, func(t token) bool { return t.text == "args" }):
		case i > 0 && r.javascript && callback(v.toks):
		default:
			list = append(list, Unknown)
		}
	}
	return list
}

// callback reports whether a JavaScript expression is a function without a call.
func callback(toks []token) bool {
	behind := max(0, toks[0].pair) + 1
	arrow := at(toks, behind).is("=") && at(toks, behind+1).is(">")
	return arrow || rules.In("javascript-function", toks[0].text) && toks[len(toks)-1].is("}")
}
