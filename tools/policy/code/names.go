package code

import (
	"cmp"
	"slices"
	"strings"
)

// imports notes the meanings of names, by import and by plain assignment. It takes the imports of Python out of the tokens.
func (r *reader) imports() {
	var kept []token
	for i := 0; i < len(r.toks) && !r.spent(1); i++ {
		t, to := r.toks[i], r.tok(i+2)
		switch {
		case r.python && r.starts(i) && (t.text == "import" || t.text == "from"):
			statement := r.statement(i)
			r.imported(statement)
			i += len(statement) - 1
			continue
		case r.javascript && t.text == "from":
			r.stands(r.tok(i-1).text, r.tok(i+1).text)
		case t.kind == nameToken && r.sign(i+1) == "=" && (r.python || r.javascript):
			if r.python && r.starts(i) {
				r.values[t.text] = r.constant(r.statement(i + 2))
			}
			end := i + 3
			if to.text == "await" {
				to, end = r.tok(end), end+1
			}
			if next := r.sign(end); to.kind == nameToken && next != "(" && next != "[" {
				r.stands(t.text, to.text)
			}
		}
		kept = append(kept, t)
	}
	r.toks = kept
}

func (r *reader) stands(name, full string) {
	if !slices.Contains(r.names[name], full) {
		r.names[name] = append(r.names[name], full)
	}
}

// imported notes an import of Python, such as "from os import remove as r, path".
func (r *reader) imported(statement []token) {
	var words []string
	for _, t := range statement {
		if t.kind != lineToken && t.text != "(" && t.text != ")" {
			words = append(words, t.text)
		}
	}
	module, list, _ := strings.Cut(strings.Join(words, " "), "import ")
	module = strings.TrimSpace(strings.TrimPrefix(module, "from "))
	for one := range strings.SplitSeq(strings.TrimRight(list, ", "), ",") {
		full, alias, _ := strings.Cut(strings.TrimSpace(one), " as ")
		if module != "" {
			alias, full = cmp.Or(alias, full), module+"."+full
		}
		first, _, _ := strings.Cut(full, ".")
		if r.modules[first] = true; !r.in("python-plain-module", first) {
			r.add(Foreign, "")
		}
		if alias == "*" {
			r.stars = append(r.stars, module)
		} else if alias != "" {
			r.stands(alias, full)
		}
		r.judge(first, len(r.toks))
	}
}

// constant returns an expression if it is a list, its text if it has one, or nil.
func (r *reader) constant(expression []token) []token {
	if len(expression) > 1 && expression[0].text == "[" && expression[len(expression)-1].text == "]" {
		return expression
	}
	if text, ok := r.text(expression, true); ok {
		return []token{{kind: textToken, text: text}}
	}
	return nil
}

// once reports whether a variable is set once. A list must also only be passed on as an argument.
func (r *reader) once(name string, passed bool) bool {
	sets, binds := 0, false
	for i, t := range r.toks {
		first, _, _ := strings.Cut(t.text, ".")
		if t.kind == lineToken {
			binds = false
			continue
		}
		binds = binds || r.in("python-binds", t.text)
		before, next := i-1, i+1
		for before > 0 && r.tok(before).kind == lineToken {
			before--
		}
		for next < len(r.toks) && r.tok(next).kind == lineToken {
			next++
		}
		set := binds || r.tok(i-1).text == "as" || r.is(i+1, "=") || r.is(i+2, "=") || passed && !(r.is(before, "(,/+") && r.is(next, "),/+"))
		if t.kind == nameToken && first == name && set {
			sets++
		}
	}
	return sets == 1 && !r.spent(2*len(r.toks))
}

// starts reports whether a statement begins at token i.
func (r *reader) starts(i int) bool {
	return r.tok(i-1).kind == lineToken || r.sign(i-1) == ";" || r.sign(i-1) == ":"
}

// ends reports whether a statement ends before token i.
func (r *reader) ends(i int) bool { return r.tok(i).kind == lineToken || r.sign(i) == ";" }

// statement returns the tokens from i to the end of the statement.
func (r *reader) statement(i int) []token {
	depth := 0
	for end := i; end < len(r.toks) && !r.spent(1); end++ {
		switch t := r.toks[end]; {
		case t.kind == lineToken && depth <= 0, t.kind == signToken && t.text == ";":
			return r.toks[i:end]
		case opens(t):
			depth++
		case closes(t):
			depth--
		}
	}
	return r.toks[min(i, len(r.toks)):]
}

func opens(t token) bool  { return t.kind == signToken && strings.Contains("([{", t.text) }
func closes(t token) bool { return t.kind == signToken && strings.Contains(")]}", t.text) }

// looped reports whether token i stands in code with a loop, in Python in a statement that is not indented, and no
// child leaves it.
func (r *reader) looped(i int) bool {
	outermost := func(t token) bool { return t.kind == lineToken && t.text == "" }
	begin, end := i, i
	for begin > 0 && !(r.python && outermost(r.toks[begin-1])) && !r.spent(1) {
		begin--
	}
	for end < len(r.toks) && !(r.python && outermost(r.toks[end])) && !r.spent(1) {
		end++
	}
	has := func(toks []token, list string) bool {
		return slices.ContainsFunc(toks, func(t token) bool { return r.in(list, t.text[strings.LastIndexByte(t.text, '.')+1:]) })
	}
	return has(r.toks[begin:end], "code-loop") && !(r.python && has(r.toks[i:], "python-exit"))
}
