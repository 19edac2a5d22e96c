package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

func contains(list, word string) bool {
	for one := range strings.SplitSeq(list, " ") {
		if one == word {
			return true
		}
	}
	return false
}

func hasWord(args []field, word string) bool {
	return slices.ContainsFunc(args, func(a field) bool { return a.text == word })
}

func envName(s string) bool {
	return s != "" && !strings.ContainsAny(s, "-/. \x00") && !(s[0] >= '0' && s[0] <= '9')
}

// judge judges a call by the rules of its program. A program that the rule files
// do not know runs; it may be given another one to run.
func judge(j *analyzer, c *call) {
	if len(c.args) == 1 && contains("--help --version", c.args[0].text) {
		return
	}
	p := rules.Of(c.name)
	if done := j.apply(c, p); !done && !p.Is("known") {
		handsOn(j, c)
	}
}

// apply judges a call by the rules of a program, and reports whether they end the judgment.
func (j *analyzer) apply(c *call, p *rules.Program) (done bool) {
	if len(p.Rules) == 0 {
		return false
	}
	t := newTerms(j, c, p)
	held := false
	for _, r := range p.Rules {
		if r.Other && held {
			continue
		}
		holds := t.all(r.When) && t.do(r)
		if held = holds || r.Other && held; holds && r.Action == "allows" {
			return true
		}
	}
	return false
}

// terms evaluates the conditions of rules for a call, and applies their actions.
type terms struct {
	j     *analyzer
	c     *call
	o     options
	p     *rules.Program
	found string // the part that the last pattern matched, or the option of the value
}

func newTerms(j *analyzer, c *call, p *rules.Program) *terms {
	return &terms{j: j, c: c, o: parse(p, c.args), p: p}
}

func (t *terms) all(groups [][]string) bool {
	for _, group := range groups {
		if !slices.ContainsFunc(group, t.holds) {
			return false
		}
	}
	return true
}

func (t *terms) holds(term string) bool {
	if rest, not := strings.CutPrefix(term, "!"); not && rest != "" {
		return !t.holds(rest)
	}
	if head, pattern, ok := rules.PatternTerm(term); ok {
		return t.matches(head, pattern)
	}
	text, rest := strings.ReplaceAll(term[1:], "␠", " "), t.o.rest
	anyArg := func(is func(arg string) bool) bool {
		return slices.ContainsFunc(t.c.args, func(a field) bool { return is(a.text) })
	}
	switch term[0] {
	case '*':
		return true
	case '.':
		if term == ".." {
			return len(rest) > 0
		}
		prefix, pattern := strings.CutSuffix(text, "*")
		return len(t.c.args) > 0 && (t.c.args[0].text == text || pattern && strings.HasPrefix(t.c.args[0].text, prefix))
	case '%':
		name, list, listed := strings.Cut(strings.TrimLeft(text, "-"), ":")
		v, ok := t.o.get(name)
		program, _, _ := strings.Cut(v.value.text, " ")
		return ok && v.has && (!listed && !harmlessHelper(v.value.text) && v.value.text != "never" || listed && !rules.In(list, programName(program)))
	case '?':
		return term == "?" && t.o.open || term == "?1" && len(rest) > 0 && rest[0].open() || term == "??" && unseen(t.c.args)
	case '#':
		return strings.HasPrefix(text, "#") && len(rest) >= int(text[1]-'0') || len(t.c.args) == int(text[0]-'0')
	case '=':
		return t.o.exact(text[2:])
	case '@':
		return anyArg(func(arg string) bool {
			return arg == text || text[0] == '-' && len(text) > 1 && strings.HasPrefix(arg, text+"=")
		})
	case '~':
		return slices.ContainsFunc(t.operands([]string{"~"}), func(a field) bool { return strings.Contains(a.text, text) })
	case '^':
		return anyArg(func(arg string) bool { return strings.HasPrefix(arg, text) })
	case '+':
		return hasWord(rest, text)
	case '-':
		if term == "-" {
			return len(rest) > 0 && rest[0].text == term
		}
		name, value, valued := strings.Cut(strings.TrimLeft(term, "-"), "=")
		opt, ok := t.o.get(name)
		return ok && (!valued || opt.value.text == value)
	}
	switch term {
	case "dry":
		return onlyShows(t.c.args, "")
	case "device":
		return anyArg(func(arg string) bool {
			rest, ok := strings.CutPrefix(arg, "/dev/")
			return ok && paths.BlockDevice(rest)
		})
	case "piped":
		return t.j.stdin.some && !t.j.stdin.known
	case "remote":
		_, to := t.copied()
		return len(to) == 0 || remote(to[0].text)
	case "glob":
		return slices.ContainsFunc(rest, func(a field) bool { return a.glob })
	}
	return len(rest) > 0 && rest[0].text == term
}

// matches reports whether a pattern matches an argument (~), an operand (+), or the value of
// an option.
func (t *terms) matches(head, pattern string) bool {
	for _, f := range t.operands([]string{head}) {
		if m := rules.Pattern(pattern).FindStringSubmatch(f.text); m != nil {
			if t.found = m[min(1, len(m)-1)]; head[0] == '-' {
				t.found = head
			}
			return true
		}
	}
	return false
}

// do applies a rule whose conditions hold. It reports whether there was anything to apply
// it to.
func (t *terms) do(r rules.Rule) bool {
	j, c := t.j, t.c
	switch r.Action {
	case "asks":
		j.ask(c, strings.NewReplacer("{}", paths.Visible(t.found), "{name}", c.name).Replace(r.Reason))
	case "refused":
		j.block(c, r.Reason)
	case "changes", "uploads", "deletes":
		return t.changes(r)
	case "runs", "within":
		for _, a := range t.o.sets {
			name, val, _ := strings.Cut(a.text, "=")
			j.variableSet(c, name, val)
		}
		rest := t.commandOf(r.What)
		switch {
		case len(rest) == 0:
			return false
		case r.Action == "within":
			within(j, c, rest)
		case len(rest) > 1 && (rest[0].text == "-c" || rest[0].text == "--command"):
			j.code(c, rest[1])
		default:
			t.run(rest)
		}
	case "verbs":
		if rest := t.o.rest; len(rest) > 0 {
			inner := *c
			inner.args = rest[1:]
			return j.apply(&inner, rules.Of(r.What[0]+" "+rest[0].text))
		}
	case "configures":
		for _, dir := range j.repository(c.st.cwd) {
			j.open(dir + "/" + r.What[0])
		}
	case "makes":
		for _, to := range t.operands(r.What) {
			j.put(c.st, to, input{}, true)
		}
	case "by":
		handlers()[r.What[0]](j, c)
	case "allows", "passes":
	default:
		if r.What[0] == "input" && contains("reads shell sql", r.Action) {
			t.input(r.Action)
			return true
		}
		operands := t.operands(r.What)
		for _, f := range operands {
			t.one(r.Action, f)
		}
		return len(operands) > 0
	}
	return true
}

// one applies an action to one operand.
func (t *terms) one(action string, f field) {
	j, c := t.j, t.c
	switch action {
	case "code":
		j.code(c, f)
	case "shell":
		shellCode(j, c, f)
	case "sed":
		effects(j, c, code.Sed(f.text))
	case "awk":
		effects(j, c, code.Awk(f.text))
	case "reads":
		read(j, c, f.text)
	case "module":
		t.module(f.text)
	case "sets":
		c.st.set(f.text, anything)
	case "receives":
		j.put(c.st, f, j.stdin, t.o.has("a", "append"))
	case "pipes":
		j.put(c.st, f, input{some: true, how: "runs what another command writes"}, false)
	case "protects":
		j.protected(c, f)
	case "script":
		j.script(c, f)
	case "sql":
		sql(j, c, f.text)
	case "setting":
		j.gitSetting(c, f.text)
	case "destroys", "empties":
		j.destroys(c, action == "empties", f)
	case "loads":
		j.ran(c, f.text)
	case "names":
		j.ranValue(c, f.text)
	case "removes":
		j.writes(c, f)
		j.openNamed(c, f)
	case "moves":
		before := len(j.opens)
		j.openNamed(c, f)
		if c.name == "worktree" {
			j.gitMoves = append(j.gitMoves, j.opens[before:]...)
		}
	case "fetches":
		name, _, _ := strings.Cut(f.text, "?")
		j.fetched[name[strings.LastIndexAny(name, `/\:`)+1:]] = true
	case "links":
		j.links(c, f)
	case "copies":
		if _, to := t.copied(); len(to) > 0 {
			j.copies(c, f, to[0])
		}
	case "writes":
		if f.text != "-" {
			j.writes(c, f)
		}
	}
}

// input judges a program that runs its standard input. An approval does not cover other input.
func (t *terms) input(action string) {
	j := t.j
	j.ranFiles(t.c, j.sources...)
	where := map[string]string{"shell": " in a shell", "sql": " in a database"}[action]
	switch in := j.stdin; {
	case in.known:
		t.one(action, field{text: in.text})
	case in.some && (action != "sql" || in.how == downloads):
		j.note(Asks, cmp.Or(in.how, "runs what comes through a pipe")+cmp.Or(where, " in an interpreter"), j.whole())
	}
}

// run judges arguments as a command that a program runs.
func (t *terms) run(rest []field) {
	if rest[0].open() {
		t.j.ask(t.c, "runs a command that cannot be seen")
		rest = rest[1:]
	}
	if len(rest) > 0 {
		t.j.call(t.c.with(rest))
	}
}

// command returns the arguments behind the options and the words before the command.
func (t *terms) command() []field { return t.o.rest[min(t.p.Skips, len(t.o.rest)):] }

// commandOf returns the command that a program runs: all arguments, those behind the
// options, behind a word at any place (@word) or at the first (.word), or from a word on
// that is at the first (=word).
func (t *terms) commandOf(what []string) []field {
	for _, w := range what {
		switch {
		case w == "arguments":
			return t.c.args
		case w == "command":
			return t.command()
		case w[0] == '@':
			if i := slices.IndexFunc(t.c.args, func(a field) bool { return a.text == w[1:] }); i >= 0 {
				return t.c.args[i+1:]
			}
		case len(t.o.rest) > 0 && t.o.rest[0].text == w[1:] && w[0] == '=':
			return t.o.rest
		case len(t.o.rest) > 0 && t.o.rest[0].text == w[1:]:
			behind := terms{p: t.p, o: parse(t.p, t.o.rest[1:])}
			command := behind.command()
			if len(command) > 1 && command[1].text == "--" {
				return append(command[:1:1], command[2:]...)
			}
			return command
		}
	}
	return nil
}

// operands returns the operands of an action.
func (t *terms) operands(what []string) (list []field) {
	rest, n := t.o.rest, len(t.o.rest)
	parts := map[string][2]int{"all": {0, n}, "+": {0, n}, "first": {0, 1}, "second": {1, 2}, "others": {1, n}}
	for _, w := range what {
		part, ofRest := parts[w]
		switch {
		case ofRest:
			list = append(list, rest[min(part[0], n):min(part[1], n)]...)
		case w == "~":
			if list = append(list, t.c.args...); t.j.stdin.known {
				list = append(list, field{text: t.j.stdin.text})
			}
		case w == "sources":
			from, _ := t.copied()
			list = append(list, from...)
		case w == "target":
			_, to := t.copied()
			list = append(list, to...)
		case w == "command" && len(t.command()) > 0:
			list = append(list, joined(t.command()))
		case w == "input" && t.j.stdin.known:
			list = append(list, field{text: t.j.stdin.text})
		case w == ".":
			list = append(list, field{text: "."})
		case w[0] == '.':
			list = append(list, t.commandOf([]string{w})...)
			list = list[:min(len(list), 1)]
		case w[0] == '>':
			if i := slices.IndexFunc(t.c.args, func(a field) bool { return a.text == w[1:] }); i >= 0 {
				behind := t.c.args[i+1:]
				first := slices.IndexFunc(behind, func(a field) bool { return !a.option() && a.text != "--" })
				list = append(list, joined(behind[max(0, first):]))
			}
		case w[0] == '@', w[0] == '^':
			for i, a := range t.c.args {
				name, val, has := strings.Cut(a.text, "=")
				switch value, begins := strings.CutPrefix(a.text, w[1:]); {
				case w[0] == '^' && begins:
					list = append(list, field{text: value})
				case w[0] == '^' || name != w[1:]:
				case has:
					list = append(list, field{text: val})
				case i+1 < len(t.c.args):
					list = append(list, field{text: t.c.args[i+1].text})
				}
			}
		case w[0] == '-':
			name := strings.TrimLeft(w, "-")
			for _, opt := range t.o.list {
				short := opt.name != "" && strings.HasPrefix(name, opt.name) && !slices.Contains(what, "--"+opt.name) && !contains(t.p.Long, opt.name)
				if opt.has && opt.double == (len(name) > 1) && (opt.name == name || short) {
					list = append(list, opt.value)
				}
			}
		}
	}
	return list
}

// copied returns the files that a program copies or moves, and the one or the folder that it makes
// of them.
func (t *terms) copied() (sources, target []field) {
	rest := t.o.rest
	if to, ok := t.o.get("t", "target-directory"); ok && to.has {
		return rest, []field{to.value}
	}
	if n := len(rest); n > 1 {
		return rest[:n-1], rest[n-1:]
	}
	return rest, nil
}

// joined returns the arguments as one text, as programs hand them to a shell.
func joined(args []field) field {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.text
	}
	return field{text: strings.Join(texts, " ")}
}

// within judges a command that runs on another machine or in a container. Its destructive
// effects require approval and are never blocked.
func within(j *analyzer, c *call, args []field) {
	inner := c.with(args)
	inner.st = &state{cwd: unknown}
	elsewhere, scope, before := j.elsewhere, j.scope, len(j.findings)
	j.elsewhere, j.scope = true, Scope{Home: scope.Home, Roots: []string{"/"}} // nothing there is ours
	j.call(inner)
	j.elsewhere, j.scope = elsewhere, scope
	for i := before; i < len(j.findings) && j.rememberAs == ""; i++ {
		j.findings[i].key = j.key(c)
	}
}
