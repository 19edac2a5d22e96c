package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// Typed judges text typed into a running command. Each program of the command may be its reader: a
// shell takes it as commands, Python as Python, an editor runs the text after "!". Other programs
// take answers; only answers that would be commands count.
func Typed(command, text string, p Scope) Verdict {
	text = strings.TrimRight(text, "\x00\x03\x04\r\n")
	j := newAnalyzer(command, p)
	j.line(j.start())
	if len(j.programs) == 0 {
		j.programs = []string{""}
	}
	worst := Verdict{}
	for i, name := range j.programs {
		if v := typedInto(name, text, "type into "+escape.Line(command)+": "+escape.Line(text), p); i == 0 || v.Level > worst.Level {
			worst = v
		}
	}
	worst.Once = worst.Once || len(worst.KeyFiles) > 0 // their content is not judged
	return worst
}

// typedInto judges text by the name of its reader, which is "" if unknown.
func typedInto(name, text, key string, p Scope) Verdict {
	asks := func(why string) Verdict {
		return Verdict{Level: Asks, Reason: why, Keys: []string{key}, Commands: []string{paths.Visible(escape.Line(text))}}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7F }) && !rules.In("names-only", name) {
		return asks("types control characters, which edit what was typed before")
	}
	shell, editor := name == "" || rules.In("typed-shell", name), rules.In("typed-editor", name)
	in, reads := asInput(name, text, key, p)
	v, dangerous := Command(text, p), matches("TYPED", text)
	switch {
	case editor && v.Syntax == "" && (v.Level == Blocked || v.Level == Asks && dangerous):
		return v
	case !shell && (reads || in.Level != Runs):
		return in
	case editor && matches("TYPED_INTO_EDITOR", text):
		return asks("may run a command or change files in the program that it is typed into")
	case !editor && v.Syntax != "" && (shell || dangerous):
		return asks("types a part of a command")
	case editor || v.Syntax != "": // an answer
		return Verdict{}
	case v.Level == Runs && shell && matches("RECALLS", text):
		return asks("runs an earlier command again")
	}
	return v
}

// asInput judges text as the standard input of a program, and reports whether the program runs it
// as code.
func asInput(name, text, key string, p Scope) (v Verdict, reads bool) {
	j := newAnalyzer(text, p)
	j.rememberAs, j.stdin = key, input{some: true, known: true, text: text + "\n"}
	j.saw(paths.Visible(text))
	t := newTerms(j, &call{name: name, st: j.start()}, rules.Of(name))
	for _, r := range t.p.Rules {
		code := slices.Contains(r.What, "input")
		scans := slices.ContainsFunc(slices.Concat(r.When...), func(term rules.Term) bool { return term.Select == "~" })
		if reads = reads || code; (code || scans) && t.all(r.When) {
			t.do(r)
		}
	}
	return j.verdict(), reads
}
