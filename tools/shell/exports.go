package shell

import (
	"bytes"
	"slices"
	"strings"
)

// plainExports reports whether text has the form of export -p in any shell: declarations
// whose values are words, quoted or not, and arrays of such words. A command can write other
// text in its place. Deeply nested code would exhaust the memory of the parser, so nested
// code is rejected.
func plainExports(text []byte) bool {
	x := exportScanner{rest: text}
	for len(x.rest) > 0 {
		if !x.declaration() {
			return false
		}
	}
	return true
}

var declares = []string{"export", "declare", "typeset"}

type exportScanner struct{ rest []byte }

// declaration scans a declaration with its line end.
func (x *exportScanner) declaration() bool {
	word := x.rest[:min(len(x.rest), bytes.IndexAny(x.rest, " \n")+1)]
	if !slices.Contains(declares, strings.TrimRight(string(word), " \n")) {
		return false
	}
	x.rest = x.rest[len(word)-1:]
	for len(x.rest) > 0 {
		switch c := x.rest[0]; c {
		case '\n':
			x.rest = x.rest[1:]
			return true
		case ' ', '\t':
			x.rest = x.rest[1:]
		default:
			if !x.word(true) {
				return false
			}
		}
	}
	return true
}

// word scans a word up to the next space. If named is set, it may be an assignment.
func (x *exportScanner) word(named bool) bool {
	if x.rest[0] == '#' {
		return false // a comment ends elsewhere
	}
	for len(x.rest) > 0 {
		switch c := x.rest[0]; {
		case c == ' ' || c == '\t' || c == '\n' || c == ')' && !named:
			return true
		case c == '=' && named:
			x.rest, named = x.rest[1:], false
			if bytes.HasPrefix(x.rest, []byte("(")) {
				return x.array()
			}
			if x.end() {
				return true
			}
		case c == '[' && named || bytes.IndexByte([]byte("()`;&|<>"), c) >= 0:
			return false
		case !x.piece():
			return false
		}
	}
	return true
}

func (x *exportScanner) end() bool {
	return len(x.rest) == 0 || bytes.IndexByte([]byte(" \t\n"), x.rest[0]) >= 0
}

// piece scans a quoted part of a word, or a byte outside of quotes.
func (x *exportScanner) piece() bool {
	switch {
	case x.rest[0] == '\'':
		return x.quoted('\'', false)
	case x.rest[0] == '"':
		return x.quoted('"', true)
	case bytes.HasPrefix(x.rest, []byte("$'")):
		x.rest = x.rest[1:]
		return x.quoted('\'', true)
	case x.rest[0] == '$':
		return false
	case x.rest[0] == '\\':
		x.rest = x.rest[min(2, len(x.rest)):]
		return true
	}
	x.rest = x.rest[1:]
	return true
}

// quoted scans quoted text. In double quotes nothing may be expanded.
func (x *exportScanner) quoted(end byte, escapes bool) bool {
	for i := 1; i < len(x.rest); i++ {
		switch c := x.rest[i]; {
		case c == end:
			x.rest = x.rest[i+1:]
			return true
		case c == '\\' && escapes:
			i++
		case end == '"' && (c == '`' || c == '$' && i+1 < len(x.rest) && bytes.IndexByte([]byte("({["), x.rest[i+1]) >= 0):
			return false
		}
	}
	return false
}

// array scans (a [1]=b ["c d"]=e).
func (x *exportScanner) array() bool {
	for x.rest = x.rest[1:]; len(x.rest) > 0; {
		switch c := x.rest[0]; c {
		case ')':
			x.rest = x.rest[1:]
			return true
		case ' ', '\t', '\n':
			x.rest = x.rest[1:]
		case '[':
			if !x.index() {
				return false
			}
		default:
			if !x.word(false) {
				return false
			}
		}
	}
	return false
}

// index scans [1] or ["c d"], which may contain code of any kind.
func (x *exportScanner) index() bool {
	for x.rest = x.rest[1:]; len(x.rest) > 0; {
		c := x.rest[0]
		switch {
		case c == ']':
			x.rest = x.rest[1:]
			return true
		case c == '"' || c == '\'' || c == '$' || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z':
			if !x.piece() {
				return false
			}
		default:
			return false
		}
	}
	return false
}
