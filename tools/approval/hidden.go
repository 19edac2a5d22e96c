package approval

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// subscript is a text that the shell takes for an element of an array and runs what is
// substituted in it, wherever it counts with it: a[$(…)].
var subscript = lazily("^[\\w\\s=+*/%(<>&|!?:,-]*\\w\\[[^\\]]*(\\$\\(|`)")

// subscripts asks about commands that hide in quoted texts of that form.
func (j *judge) subscripts(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		text := ""
		switch n := n.(type) {
		case *syntax.SglQuoted:
			text = n.Value
		case *syntax.DblQuoted:
			if len(n.Parts) == 1 {
				if lit, ok := n.Parts[0].(*syntax.Lit); ok {
					text = unescapeDouble(lit.Value)
				}
			}
		}
		if subscript().MatchString(text) {
			j.note(Asks, "hides a command in the subscript of an array", j.whole())
		}
		return true
	})
}

// Programs that name others among their arguments without running them.
const namesOnly = "echo grep egrep fgrep which whereis type whatis apropos tldr help cat ls head tail test [ wc stat file diff cmp basename dirname expr strings seq hash logger"

// destructive are programs that are judged also behind one that is not known, as it may
// run what follows.
const destructive = "rm shred srm wipefs dd shutdown reboot poweroff halt chmod chown find kill pkill killall sudo"

// behind judges what a program that is not known may run: a program among its arguments.
func (j *judge) behind(c *call) {
	if contains(namesOnly, c.name) {
		return
	}
	for i, a := range c.args {
		name := programName(a.text)
		shell := contains("sh bash zsh dash ksh", name) && slices.ContainsFunc(c.args[i+1:], func(f field) bool {
			return f.option() && !strings.HasPrefix(f.text, "--") && strings.Contains(f.text, "c")
		})
		if i+1 < len(c.args) && (shell || contains(destructive, name) || strings.HasPrefix(name, "mkfs")) {
			j.call(c.with(c.args[i:]))
			return
		}
	}
}
