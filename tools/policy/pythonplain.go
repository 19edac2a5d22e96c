package policy

import (
	"slices"
	"strings"
)

// The following constructs can hide the effect of a program, and mostly do not. They keep
// ordinary scripts from requiring approval.

// manyForks is how often a program may say that it forks.
const manyForks = 16

// loops tells whether the current token stands in a loop: in a line with one, or in
// the block of one.
func (p *pyReader) loops() bool {
	indent := -1 // of the innermost block around the token; unknown yet
	end := len(p.toks)
	for i := p.at; i < end; i++ {
		if p.toks[i].kind == '\n' {
			end = i
		}
	}
	for i := end - 1; i >= -1; i-- {
		if i >= 0 && p.toks[i].kind != '\n' {
			continue
		}
		width := len(strings.TrimPrefix(p.tok(i).text, "\n"))
		line := p.toks[i+1 : end]
		end = max(i, 0)
		if len(line) == 0 || indent >= 0 && width >= indent {
			continue
		}
		indent = width
		if slices.ContainsFunc(line, func(t pyToken) bool { return t.kind == 'n' && (t.text == "while" || t.text == "for") }) {
			return true
		}
	}
	return false
}

// exits tells whether the rest of the code leaves the program: a child that does
// starts no more of its kind.
func (p *pyReader) exits() bool {
	return slices.ContainsFunc(p.toks[p.at:], func(t pyToken) bool {
		return t.kind == 'n' && contains("_exit exit execv execve execvp execl execlp", t.text)
	})
}

// takesFrom tells whether something is taken out of a namespace by its name.
func (p *pyReader) takesFrom(full string, called bool) bool {
	_, k := p.dotted(p.at)
	if full == "sys.modules" {
		next := p.tok(k).text
		return next == "[" || next == "."
	}
	if !called {
		return false
	}
	// A loop over a namespace only reads it.
	looks := func(k int) bool { return contains("items keys", p.tok(k).text) }
	for depth := 0; k < len(p.toks); k++ {
		switch t := p.toks[k]; {
		case t.kind != 'o':
		case t.text == "(":
			depth++
		case t.text == ")":
			if depth--; depth == 0 {
				next := p.tok(k + 1).text
				return next == "[" || next == "." && !looks(k+2)
			}
		}
	}
	return true
}

// plainVariable tells whether an argument is a variable, or an attribute of one, that
// stands for no module, hermes_tools aside.
func (p *pyReader) plainVariable(arg []pyToken) bool {
	if len(arg) == 0 || arg[0].kind != 'n' || strings.HasPrefix(arg[0].text, "__") {
		return false
	}
	for i, t := range arg[1:] {
		if (i%2 == 0) != (t.text == ".") || i%2 == 1 && t.kind != 'n' {
			return false
		}
	}
	if arg[0].text == "hermes_tools" {
		return true
	}
	_, alias := p.names[arg[0].text]
	return !alias && !slices.Contains(p.mods, arg[0].text)
}

// plainModule tells whether a module is named whose functions do nothing that is
// looked for here.
func (p *pyReader) plainModule(args [][]pyToken) bool {
	if len(args) == 0 {
		return false
	}
	name, ok := constant(args[0])
	top, _, _ := strings.Cut(name, ".")
	return ok && top != "" && !in("python-strong-module", top)
}
