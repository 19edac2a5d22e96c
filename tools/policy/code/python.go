package code

import (
	"slices"
	"strings"
)

// imports notes the meaning of names: by import, and by plain assignment.
func (r *reader) imports() {
	for i := range r.toks {
		t, next := r.toks[i], r.tok(i+1)
		switch {
		case t.kind != nameToken || r.sign(i-1) == "." || r.spent(1):
		case r.javascript && t.text == "from" && next.kind == textToken:
			r.names[r.tok(i-1).text] = strings.TrimPrefix(next.text, "node:")
		case r.javascript && next.text == "=":
			k := i + 2
			if r.tok(k).text == "await" {
				k++
			}
			if call := r.tok(k).text; (call == "require" || call == "import") && r.tok(k+2).kind == textToken && r.sign(k+4) != "." {
				r.names[t.text] = strings.TrimPrefix(r.tok(k+2).text, "node:")
			}
		case !r.python:
		case t.text == "from" && next.kind == nameToken:
			if module, k := r.dotted(i + 1); r.tok(k).text == "import" {
				r.importList(r.statement(k+1), module+".")
			}
		case t.text == "import" && r.tok(i-1).kind == lineToken || t.text == "import" && r.tok(i-1).kind == signToken:
			r.importList(r.statement(i+1), "")
		case r.sign(i+1) == "=" && r.tok(i+2).kind == nameToken:
			if full, k := r.dotted(i + 2); r.tok(k).kind == lineToken || r.sign(k) == ";" {
				r.names[t.text] = r.resolve(full)
			}
		}
	}
}

// dotted reads the name at token i with its members, and returns the index after it.
func (r *reader) dotted(i int) (string, int) {
	full := r.toks[i].text
	for i++; ; {
		size := 2
		switch {
		case r.sign(i) == "." && r.tok(i+1).kind == nameToken:
		case !r.python && r.sign(i) == "[" && r.tok(i+1).kind == textToken && r.sign(i+2) == "]":
			size = 3
		default:
			return full, i
		}
		full = dot(full, r.toks[i+1].text)
		i += size
	}
}

// importList notes "a as b, c" of a module.
func (r *reader) importList(toks []token, module string) {
	for _, one := range split(slices.DeleteFunc(slices.Clone(toks), func(t token) bool { return t.text == "(" || t.text == ")" })) {
		inner := *r
		inner.toks = one
		full, end := inner.dotted(0)
		first, _, _ := strings.Cut(module+full, ".")
		r.modules[first], r.modules[r.module(first)] = true, true
		if !r.in("python-plain-module", first) {
			r.add(Foreign, "")
		}
		if reason, ok := r.rules("python-import", first); ok {
			r.add(Ask, reason)
		}
		switch {
		case full == "*":
			r.stars = append(r.stars, r.module(strings.TrimSuffix(module, ".")))
		case inner.tok(end).text == "as":
			r.names[inner.tok(end+1).text] = r.module(module + full)
		case module == "":
			r.names[first] = r.module(first)
		default:
			r.names[full] = r.module(module + full)
		}
	}
}

// module returns the name under which the rules list an import.
func (r *reader) module(full string) string {
	first, rest, dotted := strings.Cut(full, ".")
	if other, ok := r.rules("python-module-name", first); ok && dotted {
		return other + "." + rest
	} else if ok {
		return other
	}
	return full
}

// variables notes those that are set once, to a text or a list.
func (r *reader) variables() {
	r.texts, r.known = map[string]string{}, map[string][]token{}
	times := map[string]int{}
	for i, t := range r.toks {
		if t.kind != nameToken || r.spent(1) {
			continue
		}
		if r.starts(i) && r.sign(i+1) == "=" && r.sign(i+2) != "=" {
			times[t.text]++
			if expr := r.statement(i + 2); len(expr) > 1 && expr[0].kind == signToken && expr[0].text == "[" && expr[len(expr)-1].text == "]" {
				r.known[t.text] = expr
			} else if text, ok := r.text(expr); ok {
				r.texts[t.text] = text
			}
			continue
		}
		for _, name := range r.bound(i) {
			times[name] += 2
		}
	}
	for name, n := range times {
		if n > 1 {
			delete(r.texts, name)
			delete(r.known, name)
		}
	}
}

// starts reports whether a statement begins at token i.
func (r *reader) starts(i int) bool {
	return r.tok(i-1).kind == lineToken || r.sign(i-1) == ";" || r.sign(i-1) == ":"
}

// statement returns the tokens from i to the end of the statement.
func (r *reader) statement(i int) []token {
	end, depth := i, 0
	for ; end < len(r.toks) && !r.spent(1); end++ {
		switch s := r.sign(end); {
		case r.toks[end].kind == lineToken && depth <= 0, s == ";":
			return r.toks[i:end]
		case s == "(" || s == "[" || s == "{":
			depth++
		case s == ")" || s == "]" || s == "}":
			depth--
		}
	}
	return r.toks[min(i, end):end]
}

// bound returns the names that token i and those after it set in another way than by a plain
// assignment: as the target of a loop, a parameter, one of several, in place.
func (r *reader) bound(i int) (names []string) {
	t, until := r.toks[i], ""
	switch next := r.sign(i + 1); {
	case t.text == "for":
		until = "in"
	case t.text == "def" || t.text == "lambda":
		until = ":"
	case r.in("python-binds", t.text):
		return []string{r.tok(i + 1).text}
	case next == "," && r.starts(i):
		until = "="
	case next != "" && strings.Contains("+-*/%|&:^@", next) && r.sign(i+2) == "=",
		next == "[" && r.starts(i), next == "." && r.in("python-changes", r.tok(i+2).text):
		return []string{t.text}
	default:
		return nil
	}
	for k := i; k < len(r.toks) && r.toks[k].text != until && r.toks[k].kind != lineToken && !r.spent(1); k++ {
		if r.toks[k].kind == nameToken {
			names = append(names, r.toks[k].text)
		}
	}
	return names
}

// loopsBehind reports whether a loop stands between the current token and the end of its line.
func (r *reader) loopsBehind() bool {
	for i := r.at; i < len(r.toks) && r.toks[i].kind != lineToken && !r.spent(1); i++ {
		if r.toks[i].text == "for" || r.toks[i].text == "while" {
			return true
		}
	}
	return false
}

// exits reports whether the rest of the code leaves the program: a child that does starts no
// more of its kind.
func (r *reader) exits() bool {
	return !r.spent(len(r.toks)-r.at) && slices.ContainsFunc(r.toks[min(r.at, len(r.toks)):], func(t token) bool { return t.kind == nameToken && r.in("python-exit", t.text) })
}
