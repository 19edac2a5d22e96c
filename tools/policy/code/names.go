package code

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
	"golang.org/x/text/unicode/norm"
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
			if list := r.args(r.toks, i); r.python && len(list) == 1 && (r.tok(i-1).ends() || r.tok(i-1).is(":")) {
				list[0].list = list[0].list && list[0].toks[0].text == "["
				r.values[t.text] = list[0]
			}
			if to := r.tok(i + 2); to.kind == nameToken && !r.tok(i+3).is("([") {
				r.stands(t.text, to.text)
			}
		}
		binds = binds || r.python && rules.In("python-binds", t.text)
		passed := !binds && r.tok(i-1).is("(,/+") && r.tok(i+1).is("),/+") && !r.tok(i+2).is("=")
		first := strings.SplitAfterN(t.text, ".", 2)[0] // with the dot, if a member of it is used
		if t.kind == nameToken && (!passed || first != t.text) {
			r.sets[first]++
		}
	}
}

func (r *reader) stands(name, full string) {
	if !slices.Contains(r.names[name], full) {
		r.names[name] = append(r.names[name], full)
	}
}

// imported notes an import of Python, such as "from os import remove as r, path".
func (r *reader) imported(statement string) {
	words := expression("python-not-imported").ReplaceAllString(strings.ReplaceAll(" "+norm.NFKC.String(statement), "*", " * "), " ")
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

// meanings returns all possible meanings of a name.
func (r *reader) meanings(name string, depth int) (list []string) {
	first, _, _ := strings.Cut(name, ".")
	for _, module := range r.names["*"] {
		if first != "" && !r.spent(1) {
			list = append(list, strings.TrimSuffix(module, "*")+name)
		}
	}
	if r.names[first] == nil || depth > maxAliases || r.spent(1) {
		return append(list, name)
	}
	if r.modules[first] { // it may be set in code that does not run
		list = append(list, name)
	}
	for _, full := range r.names[first] {
		list = append(list, r.meanings(full+name[len(first):], depth+1)...)
	}
	return list
}
