package code

import (
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"mvdan.cc/sh/v3/expand"
)

// token is a name, a text, or one sign of code.
type token struct {
	kind kind
	text string
	code string // of a text: the code in it
	end  int    // where it ends in the source
}

type kind byte

const (
	nameToken   kind = iota
	textToken        // a text
	filledToken      // a text into which something is filled when the code runs
	shellToken       // a text that a shell runs
	lineToken        // the end of a line, with the indentation of the next
	signToken
)

// syntax is the spelling of a language.
type syntax struct{ python, javascript, sql, awk bool }

// tokens splits code. It leaves out the comments of languages that it knows.
func (x syntax) tokens(src string) (list []token) {
	add := func(k kind, s string, end int) int {
		list = append(list, token{kind: k, text: s, end: end})
		return end
	}
	for i := 0; i < len(src); {
		b, rest := src[i], src[i:]
		switch {
		case (x.python || x.awk) && b == '#', x.sql && strings.HasPrefix(rest, "--"):
			i += len(firstLine(rest))
		case x.javascript && strings.HasPrefix(rest, "//") && (i == 0 || src[i-1] != ':'):
			i += len(firstLine(rest))
		case (x.javascript || x.sql) && strings.HasPrefix(rest, "/*"):
			_, after, _ := strings.Cut(rest[2:], "*/")
			i = len(src) - len(after)
		case b == '\n':
			k := i + 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], " \t"))
			i = add(lineToken, src[i+1:k], k)
		case b == '\\' && strings.HasPrefix(rest, "\\\n"):
			i += 2
		case x.awk && b == '/' && patternAllowed(list):
			i += len(awkPattern.FindStringSubmatch(rest)[0])
		case b == '"' || (b == '\'' || b == '`') && !x.awk:
			t, ok := x.quoted(src, i, "")
			if !ok {
				i = add(signToken, rest[:1], i+1)
				continue
			}
			list, i = append(list, t), t.end
		case wordByte(b):
			k := i
			for k < len(src) && wordByte(src[k]) {
				k++
			}
			word := src[i:k]
			if x.python && k < len(src) && (src[k] == '\'' || src[k] == '"') && len(word) <= 2 && strings.Trim(strings.ToLower(word), "rbuft") == "" {
				t, _ := x.quoted(src, k, strings.ToLower(word))
				list, i = append(list, t), t.end
				continue
			}
			kind := nameToken
			if b >= '0' && b <= '9' {
				kind = signToken
			}
			i = add(kind, word, k)
		case !x.python && !x.awk && !x.sql && (strings.HasPrefix(rest, "::") || strings.HasPrefix(rest, "->") || strings.HasPrefix(rest, "?.")):
			i = add(signToken, ".", i+2)
		default:
			if i++; b > ' ' {
				add(signToken, rest[:1], i)
			}
		}
	}
	return list
}

var awkPattern = lazyregexp.New(`^/(\\.|[^/\\\n])*/?`)

// patternAllowed reports whether a slash begins a pattern of awk and is no division.
func patternAllowed(before []token) bool {
	if len(before) == 0 {
		return true
	}
	last := before[len(before)-1]
	return last.kind == lineToken || last.kind == signToken && strings.Contains("({,;~!&|=", last.text)
}

// quoted reads the text whose quote stands at i. prefix is that of Python.
func (x syntax) quoted(src string, i int, prefix string) (t token, ok bool) {
	quote, lone := src[i:i+1], i > 0 && src[i-1] == '$'
	if x.python && strings.HasPrefix(src[i:], strings.Repeat(quote, 3)) {
		quote = src[i : i+3]
	}
	k := i + len(quote)
	for k < len(src) && !strings.HasPrefix(src[k:], quote) {
		if x.javascript && src[k] == '\n' && quote != "`" {
			return t, false
		}
		if src[k] == '\\' && !x.sql {
			k++
		}
		k++
	}
	if k >= len(src) && !x.python {
		return t, false
	}
	raw := src[i+len(quote) : min(k, len(src))]
	t = token{kind: textToken, text: raw, end: min(k+len(quote), len(src))}
	if !strings.Contains(prefix, "r") && !x.sql {
		t.text = Unescape(strings.ReplaceAll(raw, "\\\n", ""))
	}
	switch {
	case x.sql:
	case quote == "`" && x.javascript && !lone:
		t.fill("${")
	case quote == "`" && x.javascript:
		if t.kind = shellToken; strings.Contains(raw, "${") {
			t.text = Unknown + t.text
		}
	case quote == "`":
		t.kind = shellToken
	case x.python && strings.ContainsAny(prefix, "ft"):
		t.fill("{")
	case !x.python && !x.javascript && !x.awk:
		t.code = t.text
		if quote == `"` && strings.ContainsAny(strings.ReplaceAll(raw, `\$`, ""), "$@") || strings.Contains(raw, "#{") {
			t.kind = filledToken
		}
	}
	return t, true
}

// fill notes the code in a text: all between a mark and a closing bracket.
func (t *token) fill(mark string) {
	for i, part := range strings.Split(strings.ReplaceAll(t.text, "{{", ""), mark) {
		if i > 0 {
			part, _, _ = strings.Cut(part, "}")
			t.kind, t.code = filledToken, t.code+part+"\n"
		}
	}
}

// Unescape undoes escapes like those of C. Text after a NUL is lost, as in bash.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	s, _, err := expand.Format(&expand.Config{}, s, nil)
	if err != nil || strings.Contains(s, `\c`) {
		return Unknown
	}
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
