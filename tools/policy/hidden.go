package policy

import (
	"mvdan.cc/sh/v3/syntax"
)

// subscript is a text that the shell takes for an element of an array: if it calculates with
// it, it runs the substitution, as in a[$(…)].
var subscript = lazily("^[\\w\\s=+*/%(<>&|!?:,-]*\\w\\[[^\\]]*(\\$\\(|`)")

// subscripts asks about commands that hide in quoted texts of that form.
func (j *analyzer) subscripts(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		text := ""
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if text = n.Value; n.Dollar {
				text = ansiC(text)
			}
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

// counted asks if a variable that is counted with holds an element of an array in which a
// command is substituted.
func (j *analyzer) counted(st *state, x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	check := func(name string) {
		vals, _ := st.get(name)
		for _, v := range vals {
			if subscript().MatchString(v.text) {
				j.note(Asks, "hides a command in the subscript of an array", j.whole())
			}
		}
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			check(n.Value)
		case *syntax.ParamExp:
			if n.Param != nil {
				check(n.Param.Value)
			}
		}
		return true
	})
}
