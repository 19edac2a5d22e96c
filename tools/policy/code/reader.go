package code

import (
	"slices"
	"strings"
)

// reader judges the tokens of one piece of code.
type reader struct {
	*language
	python, javascript bool
	rules              Rules
	whole              string   // all code
	lists              []string // of rules, the first counts first
	toks               []token
	names              map[string][]string // meanings of names, such as rm: os.remove
	modules            map[string]bool     // those of Python that were imported
	stars              []string            // modules of Python all of whose names were imported
	values             map[string][]token  // variables of Python that were set to a text or a list
	effects            []Effect
	forks              int
	wroteAny           bool
	steps              int
}

const (
	maxName    = 200 // bytes of a name that are looked up
	maxAliases = 4   // names that stand for another, one after the other
	manyForks  = 16  // a program may not fork more often
	forkBomb   = "is a fork bomb: it starts itself over and over"
)

func (r *reader) tok(i int) token {
	if i < 0 || i >= len(r.toks) {
		return token{}
	}
	return r.toks[i]
}

// is reports whether token i is one of some signs.
func (r *reader) is(i int, signs string) bool {
	return r.sign(i) != "" && strings.Contains(signs, r.sign(i))
}

// sign returns the sign at token i. If there is another token, it returns "".
func (r *reader) sign(i int) string {
	if t := r.tok(i); t.kind == signToken {
		return t.text
	}
	return ""
}

func (r *reader) in(list, word string) bool {
	_, ok := r.rules(list, word)
	return ok
}

// run judges a piece of code.
func (r *reader) run(src string) {
	outer := r.toks
	r.toks = r.tokens(src)
	r.imports()
	for i := 0; i < len(r.toks) && !r.spent(1); i++ {
		switch t := r.toks[i]; t.kind {
		case nameToken:
			r.name(t.text, i)
		case textToken, filledToken:
			if t.code != "" && !r.spent(len(t.code)) {
				r.run(t.code)
			}
			r.member(t.text, i)
		case shellToken:
			r.add(Shell, "", t.text)
		case oddToken:
			r.ask(madeUp)
		case signToken:
			r.computed(t.text, i)
		}
	}
	r.toks = outer
}

// name judges the name at token i by all that it may mean.
func (r *reader) name(name string, i int) {
	if len(name) > maxName {
		r.ask(tooLong)
		return
	}
	for _, full := range r.meanings(name, 0) {
		if r.passed(full, i) {
			r.ask(madeUp + " (" + full + ")")
		}
		for full != "" && !r.judge(full, i+1) { // it may be a method of a function, as in unlink.call
			full = full[:max(0, strings.LastIndexByte(full, '.'))]
		}
	}
}

// member judges the member that text i names, as in fs["unlink"].
func (r *reader) member(text string, i int) {
	of := r.tok(i - 2)
	if r.python || r.sign(i-1) != "[" || of.kind != nameToken && of.text != ")" && of.text != "]" {
		return
	}
	if r.javascript && r.sign(i+1) == "+" {
		r.ask(madeUp)
	}
	if of.kind != nameToken {
		of.text = ""
	}
	r.name(of.text+"."+text, i+1)
}

// computed judges names of JavaScript that are made up, and patterns that look like a division.
func (r *reader) computed(sign string, i int) {
	before, next := r.tok(i-1), r.tok(i+1)
	switch {
	case !r.javascript:
	case sign == "/" && (before.kind == lineToken || r.in("javascript-before-pattern", before.text)):
		r.ask(madeUp)
	case sign == "]" && (next.text == "(" || r.in("javascript-call", next.text)) && (before.kind == nameToken || before.kind == signToken && strings.Trim(before.text, "0123456789") != ""):
		r.judge("[]", i+1)
	}
}

// passed reports whether a module at token i is passed on, so that its functions may be called by other names.
func (r *reader) passed(full string, i int) bool {
	before, next := r.tok(i-1), r.tok(i+1)
	switch {
	case r.javascript && r.in("javascript-module", full):
		return next.kind == signToken && strings.Contains("),]", next.text) && before.text != "await" || before.text == "..." || before.text == ":" ||
			next.text == "[" && (r.tok(i+2).kind != textToken || r.sign(i+3) != "]")
	case r.python && r.modules[full] && r.in("python-module", full):
		return next.text != "=" && !(before.text == "(" && r.in("python-shows", r.tok(i-2).text))
	}
	return false
}

// meanings returns all names that a name may stand for.
func (r *reader) meanings(name string, depth int) (list []string) {
	first, rest, dotted := strings.Cut(name, ".")
	for _, module := range r.stars {
		if first != "" && !r.spent(1) {
			list = append(list, module+"."+name)
		}
	}
	for _, full := range r.names[first] {
		if dotted {
			full += "." + rest
		}
		if depth == maxAliases || full == name || r.spent(1) {
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

// entries returns the words of the rules for a name, the most exact first.
func (r *reader) entries(full string) (list []string) {
	full = full[max(0, len(full)-maxName):]
	first, _, dotted := strings.Cut(full, ".")
	last := full[strings.LastIndexByte(full, '.')+1:]
	switch {
	case !dotted:
		return []string{full}
	case !r.python:
		before := strings.TrimSuffix(full, "."+last)
		return []string{full, "." + last, before[strings.LastIndexByte(before, '.')+1:] + "." + last, last}
	}
	for rest := full; dotted; first, _, dotted = strings.Cut(rest, ".") {
		if r.in("python-module", first) || rest == full && r.modules[first] {
			for name := rest; name != ""; name = name[:max(0, strings.LastIndexByte(name, '.'))] {
				list = append(list, name, name+".*")
			}
		}
		rest = rest[len(first)+1:]
	}
	return append(list, "."+last)
}

// judge applies the effect of a name, and reports whether there is one. next is the token behind it.
func (r *reader) judge(full string, next int) bool {
	signs := r.signs(next)
	for _, list := range r.lists {
		for _, entry := range r.entries(full) {
			for n := len(signs); n >= 0; n-- {
				if effect, ok := r.effect(list, entry+signs[:n]); ok {
					effect, reason, _ := strings.Cut(effect, ": ")
					r.apply(effect, reason, full, next)
					return true
				}
			}
		}
	}
	return false
}

// signs returns the signs of the two tokens from i. A text counts as its quote.
func (r *reader) signs(i int) (signs string) {
	for _, t := range []token{r.tok(i), r.tok(i + 1)} {
		switch t.kind {
		case signToken:
			signs += t.text[:1]
		case textToken, filledToken:
			signs += `"`
		default:
			return signs
		}
	}
	return signs
}

// effect looks a word up. A condition may stand before its effect.
func (r *reader) effect(list, word string) (string, bool) {
	effect, ok := r.rules(list, word)
	if condition, conditional := strings.CutPrefix(effect, "with "); conditional {
		texts, rest, _ := strings.Cut(condition, ": ")
		return rest, slices.ContainsFunc(strings.Split(texts, "|"), func(text string) bool { return strings.Contains(r.whole, text) })
	}
	return effect, ok
}

// apply notes an effect.
func (r *reader) apply(effect, reason, full string, next int) {
	called := r.sign(next) == "("
	var args [][]token
	after := next
	if called || !r.python {
		args, after = r.args(next)
	}
	switch effect {
	case "ask":
		r.add(Ask, reason)
	case "odd":
		r.ask(reason + " (" + full + ")")
	case "delete", "tree":
		kind := map[string]Kind{"delete": Delete, "tree": Tree}[effect]
		for _, arg := range args {
			if path, ok := r.text(arg, true); ok {
				r.add(kind, "", path)
				r.add(Write, "", path)
			}
		}
		r.add(Ask, reason)
	case "write", "move":
		r.writes(args, effect == "move")
	case "write-first":
		r.writes(args[:min(1, len(args))], false)
	case "write-rest":
		r.writes(args[min(1, len(args)):], false)
	case "receiver":
		r.writes([][]token{r.receiver(next - 1)}, false)
	case "open":
		r.open(args)
	case "open-receiver":
		r.open(slices.Insert(args, 0, r.receiver(next-1)))
	case "start":
		r.start(args)
	case "sql":
		if len(args) > 0 {
			if text, ok := r.text(args[0], true); ok {
				r.add(SQL, "", text)
			}
		}
	case "code":
		for _, arg := range args {
			if text, ok := r.text(arg, true); ok && !r.spent(len(text)) {
				r.run(text)
			}
		}
		if reason != "" {
			r.ask(reason)
		}
	case "module":
		if called || r.python {
			r.module(reason, args)
		}
	case "get":
		r.get(full, args)
	case "namespace":
		next := r.tok(after)
		if (called || full == "sys.modules") && (next.text == "[" || next.kind == nameToken && strings.HasPrefix(next.text, ".") && !r.in("python-keys", next.text)) {
			r.ask(reason + " (" + full + ")")
		}
	case "kill":
		for i, arg := range args {
			if len(arg) > 1 && arg[0].text == "-" && arg[1].text == "1" && (i == 0 || !r.python) {
				r.add(Refuse, reason)
			}
		}
	case "fork":
		if r.forks++; r.forks > manyForks || r.looped(next) {
			r.add(Refuse, forkBomb)
		}
	}
}
