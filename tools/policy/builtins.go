package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// zshOnly finds syntax that other shells do not take: a program by its place, and modules.
var zshOnly = lazyregexp.New(`(^|\s)=|zmodload`)

// shellCode judges an argument as the code of a shell. Another shell may take code that does not parse.
func shellCode(j *analyzer, c *call, f field) {
	_, err := parseShell(f.text)
	if rules.In("other-shell", c.name) && (err != nil || c.name == "zsh" && zshOnly.MatchString(f.text)) {
		j.ask(c, "runs code for "+c.name+", which cannot be judged")
	}
	if err == nil || !rules.In("other-shell", c.name) {
		j.code(c, f)
	}
}

// script judges a file that a shell or an interpreter runs.
func (j *analyzer) script(c *call, f field) {
	stream := strings.HasPrefix(f.text, "/dev/fd/") || strings.HasPrefix(f.text, "/proc/self/fd/")
	if stream {
		j.ranFiles(c, j.sources...)
	}
	j.ran(c, scriptFiles(c.name, f.text)...)
	switch {
	case runsMade(j, c, f):
	case stream, strings.HasPrefix(f.text, "/dev/tcp/"):
		j.note(Asks, "runs what another command writes", j.whole())
	case strings.Contains(f.text[strings.LastIndexByte(f.text, '/')+1:], unknown):
		j.ask(c, "runs a script that cannot be seen")
	}
}

// eval judges eval and trap: code for the present shell, or for its end.
func eval(j *analyzer, c *call) {
	args, st := c.args, c.st
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	f := joined(args)
	if c.name == "trap" {
		if len(args) < 2 || args[0].text == "-" || args[0].option() {
			return
		}
		f, st = args[0], st.clone()
	}
	if strings.ContainsAny(f.text, unknown+fresh) {
		j.code(c, f)
		st.forget()
		return
	}
	j.source(strings.ReplaceAll(f.text, number, "0"), st, c)
}

func sourceFile(j *analyzer, c *call) {
	switch {
	case len(c.args) == 0:
	case c.args[0].text == "/dev/stdin":
		newTerms(j, c, &rules.Program{}).input("shell")
	default:
		j.script(c, c.args[0])
	}
	c.st.forget()
}

// alias judges an alias as a function that runs its text with the arguments behind it.
func alias(j *analyzer, c *call) {
	for _, a := range c.args {
		name, val, defined := strings.Cut(a.text, "=")
		if file, err := parseShell(val + ` "$@"`); err != nil || unseen(c.args) {
			j.code(c, field{text: val})
		} else if defined {
			j.funcs[name] = append(j.funcs[name], file.Stmts...)
		}
	}
}

// builtin judges the shell's own commands and applies their changes to the state.
func builtin(j *analyzer, c *call) {
	switch c.name {
	case "cd", "pushd", "popd":
		changeFolder(j, c)
	case "export", "declare", "typeset", "readonly", "local", "nameref":
		for _, a := range c.args {
			name, _, set := strings.Cut(a.text, "=")
			switch {
			case strings.Contains(name, unknown):
				j.ask(c, "sets variables that cannot be seen")
			case a.option() && strings.Contains(a.text, "n"), c.name == "nameref":
				c.st.forget() // a name for another variable
			case set:
				j.assign(&call{words: []field{a}, st: c.st}, a, true)
			}
		}
	case "exit":
		c.st.left = c.st.left || len(c.words) > 0 && c.words[0].text == c.name
	case "set", "shift":
		c.st.args = nil
		if i := slices.IndexFunc(c.args, func(a field) bool { return a.text == "--" }); i >= 0 {
			c.st.setArgs(c.args[i+1:])
		}
	}
}

func changeFolder(j *analyzer, c *call) {
	var to field
	if i := slices.IndexFunc(c.args, func(a field) bool { return !a.option() && a.text != "--" }); i >= 0 {
		to = c.args[i]
	}
	name := absolute(c.st, to.text)
	switch {
	case c.name == "popd", to.text == "-", to.glob, c.name == "pushd" && to.text == "":
		name = unknown
	case to.text == "":
		name = shell{j, c.st}.home()
	case !strings.ContainsAny(name, unknown+fresh):
		name = paths.Clean(name)
	}
	c.st.goTo(name)
}

// harmlessHelper tells whether a pager or editor is one that does nothing else.
func harmlessHelper(val string) bool { return val == "" || rules.In("harmless-helper", val) }
