package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLiterals is the number of alternatives up to which a prefilter is worth its time.
const maxLiterals = 8

// literals returns texts, one of which is in every match, if case is ignored. If none are known, it
// returns nil.
func literals(re *syntax.Regexp) [][]byte {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return [][]byte{[]byte(string(re.Rune))}
		}
		return foldLiteral(re.Rune)
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best [][]byte
		for _, sub := range re.Sub {
			if found := literals(sub); shortest(found) > shortest(best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		var all [][]byte
		for _, sub := range re.Sub {
			found := literals(sub)
			if len(found) == 0 || len(all)+len(found) > maxLiterals {
				return nil
			}
			all = append(all, found...)
		}
		return all
	}
	return nil
}

// foldLiteral returns the longest part of a text whose lower and upper case are both ASCII only: k
// and s have a third form (the Kelvin sign, the long s).
func foldLiteral(text []rune) [][]byte {
	other := func(r rune) bool { return r >= utf8.RuneSelf || strings.ContainsRune("kKsS", r) }
	best := ""
	for part := range strings.FieldsFuncSeq(string(text), other) {
		if len(part) > len(best) {
			best = part
		}
	}
	if best == "" {
		return nil
	}
	return [][]byte{[]byte(best)}
}

// ignoresCase reports whether a part of a pattern ignores case.
func ignoresCase(re *syntax.Regexp) bool {
	return re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 || slices.ContainsFunc(re.Sub, ignoresCase)
}

// lower appends text with ASCII in lower case to buf.
func lower(buf, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buf = append(buf, c)
	}
	return buf
}

func shortest(texts [][]byte) int {
	n := 0
	for i, text := range texts {
		if i == 0 || len(text) < n {
			n = len(text)
		}
	}
	return n
}

// prefilter finds the start of each literal in a text.
type prefilter struct {
	text     []byte
	literals [][]byte
	next     []int // where each literal begins next; at least at the last place asked for
}

func newPrefilter(text []byte, literals [][]byte) *prefilter {
	f := &prefilter{text, literals, make([]int, len(literals))}
	for i := range f.next {
		f.next[i] = -1
	}
	return f
}

// from returns the first place from at on. If there are no literals, it returns at. If
// none of them follows, it returns -1.
func (f *prefilter) from(at int) int {
	if len(f.literals) == 0 {
		return at
	}
	first := len(f.text)
	for i, literal := range f.literals {
		if f.next[i] < at {
			f.next[i] = len(f.text)
			if n := bytes.Index(f.text[at:], literal); n >= 0 {
				f.next[i] = at + n
			}
		}
		first = min(first, f.next[i])
	}
	if first == len(f.text) {
		return -1
	}
	return first
}
