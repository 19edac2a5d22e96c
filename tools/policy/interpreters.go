package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// effects notes the effects of code.
func effects(j *analyzer, c *call, list []code.Effect) {
	for _, e := range list {
		fields := make([]field, len(e.Texts))
		for i, text := range e.Texts {
			fields[i].text = text
			if rest, ok := strings.CutPrefix(text, code.Home); ok && e.Kind != code.Shell && (rest == "" || rest[0] == '/') {
				fields[i].text = j.scope.Home + rest
			}
		}
		switch e.Kind {
		case code.Ask:
			j.ask(c, e.Reason)
		case code.Refuse:
			j.block(c, e.Reason)
		case code.Delete, code.Tree:
			j.destroys(c, e.Kind == code.Tree, fields...)
		case code.Write:
			j.writes(c, fields...)
		case code.WriteAny:
			writesAny(j, c, e.Texts)
		case code.SQL:
			sqlStatements(j, c, e.Texts[0])
		case code.Shell:
			j.code(c, fields[0])
		case code.Start:
			stdin := j.stdin
			j.stdin = input{}
			j.call(c.with(fields))
			j.stdin = stdin
		case code.Foreign:
			j.foreign = true
		}
	}
}

// writesAny judges the writing of a file that is not known by all parts of paths in the code:
// those count that name a protected place.
func writesAny(j *analyzer, c *call, paths []string) {
	for _, text := range paths {
		for _, name := range []string{"/" + text, j.scope.Home + "/" + text} {
			if a := j.scope.places().Classify(name); a.Blocked || a.Settings {
				j.accessed(c, name, a)
				return
			}
		}
	}
}

// read judges code for an interpreter.
func read(j *analyzer, c *call, src string) {
	if strings.Contains(src, unknown) {
		j.ask(c, "runs code that cannot be seen whole")
	}
	if c.name == "ipython" {
		for line := range strings.Lines(src) {
			if rest := strings.TrimLeft(strings.TrimSpace(line), "!%"); len(rest) < len(strings.TrimSpace(line)) {
				j.code(c, field{text: strings.TrimPrefix(strings.TrimPrefix(rest, "sx "), "system ")})
			}
		}
	}
	src = strings.NewReplacer(unknown, " __unseen__ ", fresh, " __unseen__ ", number, "0").Replace(src)
	effects(j, c, code.Read(cmp.Or(rules.Reason("language", c.name), c.name), src, rules.Lookup))
}

// module judges "python -m". A module that runs other code runs the arguments behind it.
func (t *terms) module(name string) {
	j, c, args := t.j, t.c, t.o.rest
	if strings.Contains(name, unknown) {
		j.ask(c, "runs a module that cannot be seen")
	} else {
		j.ran(c, moduleFiles(name)...)
	}
	if p := rules.Of(name); slices.ContainsFunc(p.Rules, func(r rules.Rule) bool { return r.Action == "changes" }) { // a program of that name, such as twine
		j.apply(&call{name: name, args: args, words: c.words, st: c.st}, p)
	}
	if !rules.In("python-runs-arguments", name) {
		return
	}
	for _, a := range args { // commands and code, in one form or another
		if name == "timeit" && !a.option() || strings.ContainsAny(a.text, " (;!") {
			read(j, c, strings.TrimLeft(a.text, "! "))
		}
	}
	t.input("reads")
}

// sql judges commands for a database client: the whole text, and each statement.
func sql(j *analyzer, c *call, text string) {
	j.apply(c.with([]field{{text: text}}), rules.Of("DATABASE"))
	sqlStatements(j, c, text)
}

func sqlStatements(j *analyzer, c *call, text string) {
	for _, statement := range code.Statements(text) {
		j.apply(c.with([]field{{text: statement}}), rules.Of("SQL"))
	}
}
