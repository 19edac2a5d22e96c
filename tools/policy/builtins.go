package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// shellCode judges an argument as shell code. Another shell may accept code with a syntax error.
func shellCode(j *analyzer, c *call, f field) {
	if _, err := parseShell(f.text); err != nil && rules.In("other-shell", c.name) {
		j.ask(c, "runs code for "+c.name+", which cannot be judged")
	} else {
		j.code(c, f)
	}
}

// openStream matches files written by another command or machine.
var openStream = lazyregexp.New(`^/(dev/(fd|tcp)|proc/self/fd)/`)

// script judges a file run by a shell or an interpreter.
func (j *analyzer) script(c *call, f field) {
	stream := openStream.MatchString(f.text)
	if stream {
		j.ranFiles(c, j.sources...)
	}
	j.ran(c, scriptFiles(c.name, f.text)...)
	switch {
	case runsMade(j, c, f):
	case stream:
		j.note(Asks, "runs what another command writes", j.whole())
	case strings.Contains(f.text[strings.LastIndexByte(f.text, '/')+1:], unknown):
		j.ask(c, "runs a script that cannot be seen")
	}
}

// alias judges an alias, NAME=TEXT, as a function that runs its text with the following arguments.
func alias(j *analyzer, c *call, f field) {
	name, val, defined := strings.Cut(f.text, "=")
	if file, err := parseShell(val + ` "$@"`); err != nil || strings.Contains(f.text, unknown) {
		j.code(c, field{text: val})
	} else if defined {
		j.funcs[name] = append(j.funcs[name], file.Stmts...)
	}
}

// setArguments changes $1 and on.
func setArguments(c *call) {
	c.st.args = nil
	if i := slices.IndexFunc(c.args, func(a field) bool { return a.text == "--" }); i >= 0 {
		c.st.setArgs(c.args[i+1:])
	}
}

// changeFolder judges cd and its like.
func (t *terms) changeFolder() {
	c, to := t.c, append(t.o.rest, field{})[0]
	name := absolute(c.st, to.text)
	switch {
	case c.name == "popd", to.text == "-", to.glob, c.name == "pushd" && to.text == "":
		name = unknown
	case to.text == "":
		name = shell{t.j, c.st}.variable("HOME").text
	case !strings.ContainsAny(name, unknown+fresh):
		name = paths.Clean(name)
	}
	c.st.goTo(name)
}
