package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// act applies an action of code to its operands.
func (t *terms) act(action string, texts ...string) {
	j, c := t.j, t.c
	switch action {
	case "asks":
		j.ask(c, texts[0])
	case "blocks":
		j.block(c, texts[0])
	case "foreign":
		j.foreign = true
	case "anywhere":
		for _, name := range texts {
			if a := j.scope.places().Classify(name); a.Blocked || a.Settings {
				j.accessed(c, name, a)
				return
			}
		}
	case "starts":
		args := make([]field, len(texts))
		for i, text := range texts {
			args[i].text = text
		}
		stdin := j.stdin
		j.stdin = input{}
		j.call(c.with(args))
		j.stdin = stdin
	default:
		j.actions[action](t, field{text: texts[0]})
	}
}

// ofShell matches lines of IPython run by a shell.
var ofShell = lazyregexp.New(`(?m)^[ \t]*[!%]+(?:sx |system )?(.*)`)

// read judges code for an interpreter.
func read(j *analyzer, c *call, src string) {
	if strings.Contains(src, unknown) {
		j.ask(c, "runs code that cannot be seen whole")
	}
	for _, m := range ofShell.FindAllStringSubmatch(src, -1) {
		if c.name == "ipython" {
			j.code(c, field{text: m[1]})
		}
	}
	src = strings.NewReplacer(unknown, " __unseen__ ", fresh, " __unseen__ ", number, "0").Replace(src)
	code.Read(c.name, src, j.scope.Home, (&terms{j: j, c: c}).act)
}

// module judges "python -m": the module may be a program, such as twine, or run code in its
// arguments.
func (t *terms) module(name string) {
	if !strings.Contains(name, unknown) {
		t.j.ran(t.c, moduleFiles(name)...)
	}
	if p := rules.Of(name); slices.ContainsFunc(p.Rules, func(r rules.Rule) bool { return r.Action == "changes" }) {
		t.j.apply(&call{name: name, args: t.o.rest, words: t.c.words, st: t.c.st}, p)
	}
	for _, a := range t.o.rest {
		if rules.In("python-runs-arguments", name) && strings.ContainsAny(a.text, " (;!") {
			read(t.j, t.c, a.text)
		}
	}
}

// sql judges commands for a database client: the whole text, and each statement.
func sql(j *analyzer, c *call, text string) {
	j.apply(c.with([]field{{text: text}}), rules.Of("DATABASE"))
	for _, statement := range code.Statements(text) {
		j.apply(c.with([]field{{text: statement}}), rules.Of("SQL"))
	}
}
