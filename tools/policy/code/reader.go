package code

import (
	"slices"
	"strings"
)

// reader judges the tokens of one piece of code.
type reader struct {
	syntax
	rules   Rules
	whole   string   // all code
	src     string   // that of the tokens
	lists   []string // of rules, the first counts first
	toks    []token
	names   map[string]string  // meanings of names, such as rm → os.remove
	modules map[string]bool    // those that were imported
	stars   []string           // modules all of whose names were imported
	texts   map[string]string  // variables that are set once, to a text
	known   map[string][]token // those that are set once, to a list
	effects []Effect
	paths   []string // parts of paths in the code, if a file is written that is not known
	at      int
	indent  int
	loops   []int // indentations of the loops around the token
	forks   int
	steps   *int
}

// manyForks is how often a program may say that it forks.
const manyForks = 16

const forkBomb = "is a fork bomb: it starts itself over and over"

func (r *reader) tok(i int) token {
	if i < 0 || i >= len(r.toks) {
		return token{kind: lineToken}
	}
	return r.toks[i]
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

func (r *reader) run() {
	for r.at = 0; r.at < len(r.toks) && !r.spent(1); {
		t := r.toks[r.at]
		r.at++
		switch t.kind {
		case nameToken:
			r.at = r.name(r.at - 1)
		case textToken, filledToken:
			r.inner(t)
		case shellToken:
			r.add(Shell, "", t.text)
		case lineToken:
			if r.indent = len(t.text); r.python {
				r.loops = slices.DeleteFunc(r.loops, func(indent int) bool { return indent >= r.indent })
			}
		}
	}
}

// inner judges the code in a text, and a member that is named by a text, fs["unlink"].
func (r *reader) inner(t token) {
	if t.code != "" && !r.spent(len(t.code)) {
		inside := *r
		inside.toks, inside.src = r.tokens(t.code), t.code
		if r.python {
			inside.imports()
		}
		inside.run()
		r.effects, r.paths, r.forks, r.loops = inside.effects, inside.paths, inside.forks, inside.loops
	}
	if before := r.tok(r.at - 3); r.javascript && r.sign(r.at-2) == "[" && (before.kind == nameToken || before.text == ")" || before.text == "]") {
		if r.sign(r.at) == "+" {
			r.ask(madeUp)
		}
		r.judge("."+t.text, true, r.at+1)
	}
}

// chain reads the dotted name at token i and returns its meaning, and the index after it.
func (r *reader) chain(i int) (full string, end int) {
	if full, end = r.dotted(i); r.sign(i-1) == "." {
		return full, end
	}
	return r.resolve(full), end
}

// dot adds a member to a name, unless that is too long for any rule.
func dot(full, member string) string {
	if len(full) > maxName {
		return full
	}
	return full + "." + member
}

func (r *reader) resolve(full string) string {
	for range 4 {
		first, rest, dotted := strings.Cut(full, ".")
		to, ok := r.names[first]
		if !ok || to == first {
			break
		}
		if full = to; dotted {
			full = dot(full, rest)
		}
	}
	return full
}

// name judges the dotted name at token i and returns the index after it.
func (r *reader) name(i int) int {
	attribute := r.sign(i-1) == "."
	if word := r.toks[i].text; r.python && !attribute && (word == "import" || word == "from") {
		return i + len(r.statement(i))
	}
	full, end := r.chain(i)
	if r.in("javascript-module", full) && r.escapes(end) {
		r.ask(madeUp) // its functions may be called by a made-up name
	}
	for _, module := range r.stars {
		if !attribute {
			r.judge(module+"."+full, false, end)
		}
	}
	if r.judge(full, attribute, end) {
		return end
	}
	for k := end - 2; k > i && !r.python; k -= 2 { // a method of a function, as in unlink.call
		if full = full[:max(0, strings.LastIndexByte(full, '.'))]; r.judge(full, attribute, k) {
			break
		}
	}
	return end
}

// escapes reports whether a module of JavaScript before token i is passed on, so that its functions may be
// called by a made-up name.
func (r *reader) escapes(i int) bool {
	next := r.sign(i)
	return r.javascript && (next == ")" || next == "," || next == "]" || next == "[" && r.tok(i+1).kind != textToken)
}

// candidates returns the entries of the rules that a name may be, the most exact first.
func (r *reader) candidates(full string, attribute bool) (list []string) {
	first, _, dotted := strings.Cut(full, ".")
	i := strings.LastIndexByte(full, '.')
	if !attribute && (!r.python || !dotted || r.modules[first] || r.in("python-module", first)) {
		list = append(list, full)
		for k := 1; k <= min(len(full), maxName) && r.python; k++ {
			list = append(list, full[:k]+"*")
		}
	}
	if attribute || dotted {
		list = append(list, "."+full[i+1:])
	}
	if !r.python {
		list = append(list, full[strings.LastIndexByte(full[:max(i, 0)], '.')+1:], full[i+1:])
	}
	return list
}

// judge applies the first effect of a name whose conditions hold, and reports whether there is
// one. end is the index of the token after the name.
func (r *reader) judge(full string, attribute bool, end int) bool {
	candidates := r.candidates(full, attribute)
	for _, list := range r.lists {
		for _, entry := range candidates {
			if effect, ok := r.rules(list, entry); ok && r.holds(&effect, end) {
				effect, reason, _ := strings.Cut(effect, ": ")
				r.apply(effect, reason, full, end)
				return true
			}
		}
	}
	return false
}

// holds reports whether the conditions hold that stand before an effect, and cuts them off.
func (r *reader) holds(effect *string, end int) bool {
	after := strings.TrimLeft(r.src[min(r.tok(end-1).end, len(r.src)):], " \t")
	for {
		word, rest, _ := strings.Cut(*effect, ": ")
		condition, text, _ := strings.Cut(word, " ")
		ok := false
		switch condition {
		case "with":
			ok = strings.Contains(r.whole, text)
		case "before":
			ok = strings.HasPrefix(after, text)
		case "unless":
			ok = !strings.HasPrefix(after, text)
		default:
			return true
		}
		if !ok {
			return false
		}
		*effect = rest
	}
}

// apply notes an effect.
func (r *reader) apply(effect, reason, full string, end int) {
	called := r.sign(end) == "("
	var args [][]token
	after := end
	if called || !r.python {
		args, after = r.args(end)
	}
	switch effect {
	case "ask":
		r.add(Ask, reason)
	case "odd":
		r.ask(reason + " (" + full + ")")
	case "delete", "tree":
		kind := map[string]Kind{"delete": Delete, "tree": Tree}[effect]
		for _, arg := range args {
			if path, ok := r.text(arg); ok {
				r.add(kind, "", path)
				r.add(Write, "", path)
			}
		}
		r.add(Ask, reason)
	case "write", "write-first", "write-rest", "move":
		r.writes(effect, args)
	case "receiver":
		r.write(r.receiver(end))
	case "open":
		r.open(args)
	case "start":
		if called || !r.python || r.sign(r.at-2) != "=" {
			r.start(args)
		}
	case "sql":
		for _, arg := range args[:min(1, len(args))] {
			if text, ok := r.text(arg); ok {
				r.add(SQL, "", text)
			}
		}
	case "code":
		for _, arg := range args {
			if text, ok := r.text(arg); ok {
				r.inner(token{kind: textToken, code: text})
			}
		}
		if reason != "" {
			r.ask(reason)
		}
	case "module":
		name, ok := "", false
		if r.python && len(args) > 0 || len(args) == 1 && len(args[0]) == 1 {
			name, ok = r.text(args[0])
		}
		first, _, _ := strings.Cut(name, ".")
		switch {
		case r.javascript && !called:
		case !ok, r.python && r.in("python-module", first):
			r.ask(reason)
		case r.javascript && r.in("javascript-module", strings.TrimPrefix(name, "node:")) && r.escapes(after):
			r.ask(madeUp)
		}
	case "get":
		r.get(full, args)
	case "namespace":
		if next := r.sign(after); (next == "[" || next == "." && !strings.Contains(" items keys ", " "+r.tok(after+1).text+" ")) && (called || full == "sys.modules") {
			r.ask(reason + " (" + full + ")")
		}
	case "kill":
		for i, arg := range args {
			if len(arg) > 1 && arg[0].text == "-" && (arg[1].text == "1" || r.python && i == 0) {
				r.add(Refuse, reason)
			}
		}
	case "loop":
		r.loops = append(r.loops, r.indent)
	case "fork":
		if r.forks++; r.python && (r.forks > manyForks || (len(r.loops) > 0 || r.loopsBehind()) && !r.exits()) {
			r.add(Refuse, forkBomb)
		}
	}
}
