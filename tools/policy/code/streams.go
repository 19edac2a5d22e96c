package code

import (
	"slices"
	"strings"
)

// Awk lists the programs that awk code starts and the files that it writes.
func Awk(src string) []Effect {
	r := reader{language: languages["awk"]}
	if strings.HasPrefix(src, Unknown) {
		r.ask("runs awk code that cannot be seen")
	}
	r.toks = r.tokens("\n" + src)
	shell := func(i int) {
		next := r.tok(i + 1)
		if t := r.tok(i); t.kind == textToken && (next.kind == lineToken || next.kind == signToken && strings.Contains(")};|&", next.text)) {
			r.add(Shell, "", t.text)
		} else {
			r.ask(startsOther)
		}
	}
	printing, depth := false, 0
	for i := 0; i < len(r.toks); i++ {
		switch t := r.toks[i]; {
		case t.kind == nameToken && (t.text == "print" || t.text == "printf"):
			printing, depth = true, 0
		case t.kind == nameToken && t.text == "system":
			shell(i + 2)
		case t.kind == lineToken:
			printing = false
		case t.kind != signToken:
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case strings.Contains(";{}", t.text):
			printing = false
		case t.text == "|" && r.sign(i+1) == "|":
			i++
		case t.text == "|" && r.tok(i+1).text == "getline":
			shell(i - 1)
		case t.text == "|":
			shell(i + 1)
		case t.text == ">" && printing && depth <= 0:
			if r.sign(i+1) == ">" {
				i++
			}
			if to := r.tok(i + 1); to.kind == textToken {
				r.add(Write, "", to.text)
			} else {
				r.add(Ask, "writes to files that cannot be seen")
			}
		}
	}
	return r.effects
}

// Sed lists the programs that a script of sed starts and the files that it writes.
func Sed(src string) []Effect {
	r := reader{}
	if strings.HasPrefix(src, Unknown) {
		r.ask("runs a sed script that cannot be seen")
		return r.effects
	}
	for i := 0; i < len(src); {
		rest := src[i+1:]
		lineEnd := i + 1 + len(firstLine(rest))
		argument := strings.TrimSpace(firstLine(rest))
		switch b := src[i]; {
		case b == 's' || b == 'y':
			end := len(src)
			if rest != "" {
				end = delimited(src, delimited(src, i+2, rest[0], true), rest[0], false)
			}
			flags, _, _ := strings.Cut(firstLine(src[end:]), "}")
			before, file, writes := strings.Cut(flags, "w")
			if before, _, _ = strings.Cut(before, ";"); b == 's' && strings.Contains(before, "e") {
				r.ask("runs what it makes of its input as commands")
			}
			if i = end + len(before); b == 's' && writes && i == end+len(flags)-len(file)-1 {
				r.add(Write, "", strings.TrimSpace(file))
				i = end + len(firstLine(src[end:]))
			}
		case b == '\\' && rest != "":
			i = delimited(src, i+2, rest[0], true)
		case b == '/':
			i = delimited(src, i+1, b, true)
		case b == 'e' && argument == "":
			r.ask("runs what it reads as commands")
			i = lineEnd
		case b == 'e':
			r.add(Shell, "", firstLine(rest))
			i = lineEnd
		case b == 'w' || b == 'W':
			r.add(Write, "", argument)
			i = lineEnd
		case slices.Contains([]byte("aicrR#"), b):
			i = lineEnd
		case slices.Contains([]byte("btT:"), b):
			i = lineEnd - len(firstLine(rest)) + len(strings.FieldsFunc(firstLine(rest)+" ;", func(r rune) bool { return r == ';' || r == '}' })[0])
		default:
			i++
		}
	}
	return r.effects
}

// delimited returns the index after the next sign that ends a part. In a pattern, a sign
// between square brackets does not.
func delimited(src string, i int, sign byte, pattern bool) int {
	set := false
	for ; i < len(src); i++ {
		switch {
		case src[i] == '\\':
			i++
		case src[i] == sign && (!set || !strings.Contains(src[i:], "]")):
			return i + 1
		case src[i] == '[' && pattern && !set:
			if set = true; strings.HasPrefix(src[i+1:], "]") {
				i++
			}
		case src[i] == ']':
			set = false
		}
	}
	return len(src)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
