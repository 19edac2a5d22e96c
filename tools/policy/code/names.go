package code

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// bind notes the meanings of names, by import and by plain assignment, and the texts of variables.
func (r *reader) bind() {
	binds := false
	for i, t := range r.toks {
		if r.spent(1) {
			return
		}
		switch {
		case t.kind == lineToken:
			binds = false
		case t.kind == importToken:
			r.imported(t.text)
		case t.kind == nameToken && (r.python && r.tok(i+1).is("=") || r.javascript && (r.tok(i+1).is("=") || r.tok(i+1).text == "from")):
			if list := r.args(r.toks, i+1); r.python && len(list) == 1 && (r.tok(i-1).ends() || r.tok(i-1).is(":")) {
				v := r.value(list[0].toks[1:])
				v.list = v.list && v.toks[0].text == "["
				r.values[t.text] = v
			}
			if to := r.tok(i + 2); to.kind == nameToken && !r.tok(i+3).is("([") {
				r.stands(t.text, to.text)
			}
		}
		binds = binds || r.python && rules.In("python-binds", t.text)
		first, _, member := strings.Cut(t.text, ".")
		set := binds || r.tok(i-1).text == "as" || r.tok(i+1).is("=") || r.tok(i+2).is("=")
		passed := r.tok(i-1).is("(,/+") && r.tok(i+1).is("),/+")
		if member && !set {
			first += "."
		}
		if t.kind == nameToken && (set || !passed) {
			r.sets[first]++
		}
	}
}

func (r *reader) stands(name, full string) {
	if !slices.Contains(r.names[name], full) {
		r.names[name] = append(r.names[name], full)
	}
}

var notImported = lazyregexp.New(`(?:#[^\n]*|[\\()\s])+`)

// imported notes an import of Python, such as "from os import remove as r, path".
func (r *reader) imported(statement string) {
	words := notImported.ReplaceAllString(strings.ReplaceAll(" "+statement, "*", " * "), " ")
	module, list, _ := strings.Cut(words, " import ")
	module = strings.TrimPrefix(module, " from ")
	for one := range strings.SplitSeq(strings.TrimRight(list, ", "), ",") {
		full, alias, _ := strings.Cut(strings.TrimSpace(one), " as ")
		if module != "" {
			alias, full = cmp.Or(alias, full), module+"."+full
		}
		first, _, _ := strings.Cut(full, ".")
		if r.modules[first] = true; !rules.In("python-plain-module", first) {
			r.do("foreign")
		}
		if alias != "" {
			r.stands(alias, full)
		}
		r.judge(first, len(r.toks), nothing)
	}
}

// once reports whether a variable is set once. A list must also only be passed on as an argument.
func (r *reader) once(name string) bool {
	return r.sets[name] == 1 && !(r.values[name].list && r.sets[name+"."] > 0)
}

// meanings returns all names that a name may stand for.
func (r *reader) meanings(name string, depth int) (list []string) {
	first, _, _ := strings.Cut(name, ".")
	for _, module := range r.names["*"] {
		if first != "" && !r.spent(1) {
			list = append(list, strings.TrimSuffix(module, "*")+name)
		}
	}
	for _, full := range r.names[first] {
		if full += name[len(first):]; depth == maxAliases || full == name || r.spent(1) {
			list = append(list, full)
		} else {
			list = append(list, r.meanings(full, depth+1)...)
		}
	}
	if r.names[first] == nil {
		list = append(list, name)
	}
	return list
}
