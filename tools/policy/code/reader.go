package code

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

type reader struct {
	language
	python, javascript bool
	do                 Do
	home               string
	whole              string   // all code, until its paths were noted
	lists              []string // of rules, the first counts first
	toks               []token
	sets               map[string]int      // how often variables in toks are set, or may be; with a dot, their members used
	names              map[string][]string // meanings of names, such as rm: os.remove, and *: os.*
	modules            map[string]bool     // imported Python modules
	values             map[string]value    // of variables of Python
	forks, steps       int                 // until now
}

const (
	maxName    = 200 // bytes of a name to look up
	maxAliases = 4   // names in a chain of aliases
	manyForks  = 16  // a program may not fork more often
)

func (r *reader) tok(i int) token { return at(r.toks, i) }

// run judges a piece of code.
func (r *reader) run(src string) {
	toks, sets := r.toks, r.sets
	r.toks, r.sets = r.tokens(src), map[string]int{}
	r.bind()
	for i, t := range r.toks {
		if r.spent(1 + len(t.code)) {
			break
		}
		if t.code != "" && t.kind != shellToken {
			r.run(t.code)
		}
		switch {
		case t.kind == oddToken, t.kind == nameToken && len(t.text) > maxName:
			r.do.ask(madeUp)
		case t.kind == shellToken:
			r.do("code", t.text)
		case t.kind == nameToken, t.is("]") && strings.Trim(r.tok(i-1).text, "0123456789") != "":
			r.name(t.text, i)
		}
	}
	r.toks, r.sets = toks, sets
}

// name judges the name at token i, or the "]" after a computed name, by all its possible meanings.
func (r *reader) name(name string, i int) {
	for _, full := range r.meanings(name, 0) {
		shown := r.tok(i+1).is("=") || r.tok(i-1).is("(") && rules.In("python-shows", r.tok(i-2).text)
		if r.modules[full] && rules.In("python-module", full) && !shown { // its functions may be called by other names
			r.do.ask(madeUp + " (" + full + ")")
		}
		// It may be a method of a function, as in unlink.call.
		for follows := r.follows(i + 1); full != "" && !r.judge(full, i+1, follows); follows = nothing {
			full = full[:max(0, strings.LastIndexByte(full, '.'))]
		}
	}
}

// judge applies the effect of a name, and reports whether it has an effect. next is the token after
// the name. follows are the rules' words for the tokens there.
func (r *reader) judge(full string, next int, follows []string) bool {
	for _, list := range r.lists {
		for _, entry := range r.entries(full) {
			for _, behind := range follows {
				if effect, ok := rules.List(list)[entry+behind]; ok {
					r.apply(effect, full, next)
					return true
				}
			}
		}
	}
	return false
}

// entries returns the words of the rules for a name, the most exact first.
func (r *reader) entries(full string) (list []string) {
	parts := strings.Split(full, ".")
	last := len(parts) - 1
	switch {
	case last == 0:
		return parts
	case !r.python:
		return []string{full, "." + parts[last], parts[last-1] + "." + parts[last], parts[last]}
	}
	for i, first := range parts[:last] {
		for end := len(parts); end > i && (rules.In("python-module", first) || i == 0 && r.modules[first]); end-- {
			name := strings.Join(parts[i:end], ".")
			list = append(list, name, name+".*")
		}
	}
	return append(list, "."+parts[last])
}

var nothing = []string{""}

// follows returns the ends of rule words that match the tokens from i, the most exact first. An end
// is one or two signs, with a quote for a text. For a call, it is "()" with the sign or the member
// after the call.
func (r *reader) follows(i int) (list []string) {
	next, signs := r.tok(i), ""
	if next.is("(") {
		behind := r.tok(i + next.pair + 1).text
		list = append(list, "()"+behind, "()"+behind[:min(1, len(behind))])
	}
	for k := i; k < i+2 && r.tok(k).kind >= signToken; k++ {
		sign := `"`
		if t := r.tok(k); t.kind == signToken {
			sign = t.text[:1]
		}
		signs += sign
	}
	for n := len(signs); n >= 0; n-- {
		list = append(list, signs[:n])
	}
	return list
}

// apply applies an effect to its operands.
func (r *reader) apply(effect, full string, next int) {
	effect, reason, _ := strings.Cut(effect, ": ")
	words := strings.Fields(effect)
	var args, of []value
	if r.tok(next).is("(") || !r.python {
		args = r.args(r.toks, next)
	}
	one, two := min(1, len(args)), min(2, len(args))
	operands := map[string][]value{"all": args, "first": args[:one], "second": args[one:two], "others": args[one:], "value": {r.value(r.receiver(next - 1))}}
	for _, operand := range words[1:] {
		of = append(of, operands[operand]...)
	}
	verdict := "asks"
	switch action := words[0]; action {
	case "destroys", "empties", "writes":
		r.writes(action, of)
	case "opens":
		r.opens(of)
	case "starts":
		r.starts(of)
	case "sql", "code":
		for _, v := range of {
			if v.known && action == "sql" {
				r.do(action, v.text)
			} else if v.known && !r.spent(len(v.text)) {
				r.run(v.text)
			}
		}
	case "odd", "reaches":
		if action == "reaches" && len(of) > 0 && r.harmless(of[0], args[0]) {
			return
		}
		reason += " (" + full + ")"
		r.do("foreign")
	case "kills", "forks":
		everything := func(v value) bool { return at(v.toks, 0).text == "-" && at(v.toks, 1).text == "1" }
		if action == "kills" && !slices.ContainsFunc(args, everything) || action == "forks" && !r.forksOften(next) {
			return
		}
		verdict = "blocks"
	}
	if reason != "" {
		r.do(verdict, reason)
	}
}

// forksOften reports whether token i is one of many forks or is near a loop, and no forked process
// exits. In Python, near means in the same top-level statement.
func (r *reader) forksOften(i int) bool {
	r.forks++
	inner := func(t token) bool { return !r.python || t.kind != lineToken || t.text != "" }
	begin, end := i, i
	for begin > 0 && inner(r.toks[begin-1]) {
		begin--
	}
	for end < len(r.toks) && inner(r.toks[end]) {
		end++
	}
	return r.forks > manyForks || r.has("code-loop", r.toks[begin:end]) && !(r.python && r.has("python-exit", r.toks[i:]))
}

// has reports whether a word of a list is the last part of a name.
func (r *reader) has(list string, toks []token) bool {
	return !r.spent(len(toks)) && slices.ContainsFunc(toks, func(t token) bool {
		return t.kind == nameToken && rules.In(list, t.text[strings.LastIndexByte(t.text, '.')+1:])
	})
}

// harmless reports whether name is a harmless module or member of the value. A member of a plain
// variable may have any name.
func (r *reader) harmless(name, of value) bool {
	if name.known && name.sure {
		first, _, _ := strings.Cut(strings.TrimPrefix(name.text, "node:"), ".")
		return !strings.HasPrefix(first, "__") && !rules.In("dangerous-name", name.text) && !rules.In(string(r.language)+"-module", first)
	}
	first, _, _ := strings.Cut(r.meanings(of.toks[0].text, 0)[0], ".")
	variable := len(of.toks) == 1 && of.toks[0].kind == nameToken && (!r.modules[first] || first == "hermes_tools")
	return variable && !slices.Equal(name.toks, of.toks)
}
