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
	return slices.Contains(strings.Fields(list), word)
}

func envName(s string) bool {
	return s != "" && !strings.ContainsAny(s, "-/. \x00") && !(s[0] >= '0' && s[0] <= '9')
}

// judge judges a call by the rules of its program. A program without rules runs; it may receive
// another program to run.
func judge(j *analyzer, c *call) {
	if len(c.args) == 1 && contains("--help --version", c.args[0].text) {
		return
	}
	p := rules.Of(c.name)
	if done := j.apply(c, p); !done && !p.Is("known") && !rules.In("names-only", c.name) {
		handsOn(j, c)
	}
}

// apply judges a call by the rules of a program, and reports whether they end the judgment.
func (j *analyzer) apply(c *call, p *rules.Program) (done bool) {
	t := newTerms(j, c, p)
	for _, a := range t.o.sets {
		j.assign(c, a, false)
	}
	held := false
	for _, r := range p.Rules {
		if r.Other && held {
			continue
		}
		if held = t.all(r.When) && t.do(r); held && r.Action == "allows" {
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
	found string // the text matched by the last pattern
}

func newTerms(j *analyzer, c *call, p *rules.Program) *terms {
	return &terms{j: j, c: c, o: parse(p, c.args), p: p}
}

// matches reports whether the conditions of a rule of a program hold for arguments.
func matches(program string, args ...string) bool {
	c := &call{}
	for _, a := range args {
		c.args = append(c.args, field{text: a})
	}
	t := newTerms(nil, c, rules.Of(program))
	return slices.ContainsFunc(t.p.Rules, func(r rules.Rule) bool { return t.all(r.When) })
}

func (t *terms) all(groups [][]rules.Term) bool {
	for _, group := range groups {
		if !slices.ContainsFunc(group, t.holds) {
			return false
		}
	}
	return true
}

func (t *terms) holds(term rules.Term) bool {
	return term.Not != slices.ContainsFunc(t.selects(term.Select), func(f field) bool {
		m := term.Test.FindStringSubmatch(f.text)
		if m != nil {
			t.found = m[min(1, len(m)-1)]
		}
		return term.Other == (m == nil)
	})
}

// parts are the operands named by a selector: the first index, and how many.
var parts = map[string][2]int{"all": {0, maxArgs}, "+": {0, maxArgs}, "first": {0, 1}, "second": {1, 1}, "third": {2, 1}, "others": {1, maxArgs}, "further": {2, maxArgs}}

// selects returns the parts of the call named by a selector: operands, arguments, values of
// options.
func (t *terms) selects(selector string) (list []field) {
	args, rest := t.c.args, t.o.rest
	if part, ok := parts[selector]; ok {
		rest = rest[min(part[0], len(rest)):]
		return rest[:min(part[1], len(rest))]
	}
	switch selector {
	case "*", ".":
		return []field{{text: "."}}
	case "?":
		return t.o.open
	case "lasting":
		return slices.DeleteFunc(slices.Clone(rest), func(f field) bool {
			return t.j != nil && (f.text == fresh && len(t.j.scope.Temp) > 0 || f.seen() && t.j.scope.places().OwnTemp(absolute(t.c.st, f.text)))
		})
	case "command":
		list = parse(t.p, t.selects("others")).rest
		if len(list) > 1 && list[1].text == "--" {
			list = slices.Delete(slices.Clone(list), 1, 2)
		}
		return list
	case "starts":
		return starts(args)
	case "argument":
		return args[:min(1, len(args))]
	case "arguments":
		return args
	case "line":
		line := ""
		for _, a := range args {
			line += strings.ReplaceAll(a.text, "\n", " ") + "\n"
		}
		return []field{{text: line}}
	case "~":
		return append(args[:len(args):len(args)], t.selects("input")...)
	case "input", "piped":
		if in := t.j.stdin; in.some && in.known == (selector == "input") {
			list = []field{{text: in.text}}
		}
		return list
	case "sources", "target":
		target := slices.DeleteFunc(t.o.values("-t", "--target-directory"), func(f field) bool { return f.text == "" })
		if n := len(rest) - 1; len(target) == 0 && n > 0 {
			rest, target = rest[:n], rest[n:]
		}
		if selector == "sources" {
			return rest
		}
		return target[max(0, len(target)-1):]
	}
	switch name := selector[1:]; selector[0] {
	case '%':
		return slices.DeleteFunc(t.selects(name), func(f field) bool { return f.text == "" || rules.In("harmless-helper", f.text) })
	case '>':
		if i := slices.IndexFunc(args, func(a field) bool { return a.text == name }); i >= 0 {
			behind := args[i+1:]
			first := slices.IndexFunc(behind, func(a field) bool { return !a.option() && a.text != "--" })
			return behind[max(0, first):]
		}
	case '@':
		for i, a := range args {
			if value, has := strings.CutPrefix(a.text, name+"="); has {
				list = append(list, field{text: value})
			} else if a.text == name {
				list = append(list, append(args[i+1:len(args):len(args)], field{})[0])
			}
		}
	case '^':
		for _, a := range args {
			if value, begins := strings.CutPrefix(a.text, name); begins {
				list = append(list, field{text: value})
			}
		}
	default:
		list = t.o.values(selector)
	}
	return list
}

// do applies a rule whose conditions hold. It reports whether there was anything to apply
// it to.
func (t *terms) do(r rules.Rule) bool {
	j, c := t.j, t.c
	switch r.Action {
	case "asks", "changes", "deletes":
		j.ask(c, strings.NewReplacer("{}", paths.Visible(t.found), "{name}", c.name).Replace(r.Reason))
		return true
	case "blocks":
		j.block(c, r.Reason)
		return true
	case "allows", "passes":
		return true
	case "configures":
		for _, dir := range j.repository(c.st.cwd) {
			j.open(dir + "/" + r.What[0])
		}
		return true
	}
	var operands []field
	for _, what := range r.What {
		if what == "input" && contains("reads shell sql", r.Action) {
			t.input(r.Action)
			return true
		}
		operands = append(operands, t.selects(what)...)
	}
	if !contains("runs within", r.Action) {
		operands = slices.DeleteFunc(operands, func(f field) bool { return f.text == "" || f.text == "-" && r.Action == "writes" })
	}
	switch {
	case len(operands) == 0:
		return false
	case r.Action == "line":
		j.code(c, joined(operands))
	case r.Action == "evaluates":
		j.eval(c, joined(operands), c.st)
	case r.Action == "within":
		within(j, c, operands)
	case r.Action == "runs":
		t.run(operands)
	case r.Action == "script":
		j.script(c, operands[0])
	default:
		for _, f := range operands {
			j.actions[r.Action](t, f)
		}
	}
	return true
}

// actions returns the functions that apply an action of a rule to an operand.
func actions() map[string]func(t *terms, f field) {
	return map[string]func(t *terms, f field){
		"code":       func(t *terms, f field) { t.j.code(t.c, f) },
		"shell":      func(t *terms, f field) { shellCode(t.j, t.c, f) },
		"sed":        func(t *terms, f field) { code.Sed(f.text, t.act) },
		"awk":        func(t *terms, f field) { code.Awk(f.text, t.act) },
		"reads":      func(t *terms, f field) { read(t.j, t.c, f.text) },
		"module":     func(t *terms, f field) { t.module(f.text) },
		"sql":        func(t *terms, f field) { sql(t.j, t.c, f.text) },
		"sets":       func(t *terms, f field) { t.c.st.set(f.text, anything) },
		"forgets":    func(t *terms, _ field) { t.c.st.forget() },
		"cd":         func(t *terms, _ field) { t.changeFolder() },
		"set":        func(t *terms, _ field) { setArguments(t.c) },
		"find":       func(t *terms, _ field) { t.find() },
		"xargs":      func(t *terms, _ field) { t.xargs() },
		"gitCommand": func(t *terms, _ field) { t.gitCommand() },
		"gitConfig":  func(t *terms, _ field) { t.gitConfig() },
		"recipes":    func(t *terms, _ field) { t.runRecipes() },
		"traps":      func(t *terms, f field) { t.j.eval(t.c, f, t.c.st.clone()) },
		"defines":    func(t *terms, f field) { alias(t.j, t.c, f) },
		"verbs": func(t *terms, f field) {
			t.j.apply(&call{name: t.c.name, args: t.o.rest[1:], words: t.c.words, st: t.c.st}, rules.Of("docker "+f.text))
		},
		"keeps": func(t *terms, f field) {
			if strings.Contains(f.text, "=") {
				t.j.assign(&call{words: []field{f}, st: t.c.st}, f, true)
			}
		},
		"leaves": func(t *terms, _ field) {
			t.c.st.left = t.c.st.left || len(t.c.words) > 0 && t.c.words[0].text == t.c.name
		},
		"setting":  func(t *terms, f field) { t.j.gitSetting(t.c, f.text) },
		"receives": func(t *terms, f field) { t.j.put(t.c.st, f, t.j.stdin, len(t.o.values("-a", "--append")) > 0) },
		"makes":    func(t *terms, f field) { t.j.put(t.c.st, f, input{}, true) },
		"pipes": func(t *terms, f field) {
			t.j.put(t.c.st, f, input{some: true, how: "runs what another command writes"}, false)
		},
		"protects": func(t *terms, f field) { t.j.wrote(t.c, true, f) },
		"destroys": func(t *terms, f field) { t.j.destroys(t.c, false, f) },
		"empties":  func(t *terms, f field) { t.j.destroys(t.c, true, f) },
		"loads":    func(t *terms, f field) { t.j.ran(t.c, f.text) },
		"names":    func(t *terms, f field) { t.j.ranValue(t.c, f.text) },
		"links":    func(t *terms, f field) { t.j.links(t.c, f) },
		"moves":    func(t *terms, f field) { t.j.moved(t.c, f) },
		"fetches":  func(t *terms, f field) { t.j.fetched[baseName(strings.Split(f.text, "?")[0])] = true },
		"copies":   func(t *terms, f field) { t.copies(f) },
		"writes":   func(t *terms, f field) { t.j.writes(t.c, f) },
	}
}

// baseName returns the last part of a path or an address.
func baseName(text string) string { return text[strings.LastIndexAny(text, `/\:`)+1:] }

// input judges a program that runs its standard input. An approval does not cover other input.
func (t *terms) input(action string) {
	j := t.j
	j.ranFiles(t.c, j.sources...)
	where := map[string]string{"shell": " in a shell", "sql": " in a database"}[action]
	switch in := j.stdin; {
	case in.known:
		j.actions[action](t, field{text: in.text})
	case in.some && (action != "sql" || in.how == downloads):
		j.note(Asks, cmp.Or(in.how, "runs what comes through a pipe")+cmp.Or(where, " in an interpreter"), j.whole())
	}
}

// run judges operands as a command run by a program.
func (t *terms) run(command []field) {
	if command[0].open() {
		t.j.ask(t.c, "runs a command that cannot be seen")
		command = command[1:]
	}
	t.j.call(t.c.with(command))
}

// joined joins the arguments as programs do for a shell.
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
	elsewhere, scope, key := j.elsewhere, j.scope, j.rememberAs
	j.rememberAs = cmp.Or(key, j.key(c))
	j.elsewhere, j.scope = true, Scope{Home: scope.Home, Roots: []string{"/"}} // nothing there is ours
	j.call(&call{args: args, words: c.words, st: &state{cwd: unknown}})
	j.elsewhere, j.scope, j.rememberAs = elsewhere, scope, key
}
