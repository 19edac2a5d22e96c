package workspace

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
)

// literal is a text that a matching line holds, so that most lines need no
// regular expression.
type literal struct {
	text []byte // lower case ASCII when fold is set
	fold bool   // in any case
	rare int    // which of its bytes to look for first, when fold is set
}

// More alternatives than this are not worth looking for one by one.
const maxLiterals = 8

// literals returns texts one of which every match must hold; none: not known.
func literals(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return foldLiteral(re.Rune)
		}
		return []literal{{text: []byte(string(re.Rune))}}
	case syntax.OpCapture, syntax.OpPlus:
		return literals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return literals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if found := literals(sub); worth(found) > worth(best) {
				best = found
			}
		}
		return best
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	}
	return nil
}

func alternatives(subs []*syntax.Regexp) []literal {
	var all []literal
	for _, sub := range subs {
		found := literals(sub)
		if len(found) == 0 || len(all)+len(found) > maxLiterals {
			return nil
		}
		all = append(all, found...)
	}
	return all
}

func shortest(texts []literal) int {
	if len(texts) == 0 {
		return 0
	}
	n := len(texts[0].text)
	for _, t := range texts[1:] {
		n = min(n, len(t.text))
	}
	return n
}

// selective tells whether few lines hold one of texts.
func selective(texts []literal) bool {
	return shortest(texts) > 1 || len(texts) == 1 && !texts[0].fold && strings.IndexByte(seldom, texts[0].text[0]) >= 0
}

// seldom are bytes that source text has in few lines.
const seldom = "@#$%^&~`?!|\\QXZJKqzj"

// worth orders texts by how few lines hold one.
func worth(texts []literal) int {
	n := 4 * shortest(texts)
	if n > 0 && n <= 4 && selective(texts) {
		n += 2
	}
	return n
}

// foldLiteral takes the longest part of a text whose other case is ASCII too: k
// and s have a third spelling (the Kelvin sign, the long s).
func foldLiteral(text []rune) []literal {
	simple := func(r rune) bool { return r < unicode.MaxASCII && !strings.ContainsRune("kKsS", r) }
	best := ""
	for part := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return !simple(r) }) {
		if len(part) > len(best) {
			best = part
		}
	}
	if best == "" {
		return nil
	}
	l := literal{text: []byte(strings.ToLower(best)), fold: true}
	for i, c := range l.text {
		if rarity(c) > rarity(l.text[l.rare]) {
			l.rare = i
		}
	}
	return []literal{l}
}

// rarity orders bytes by how seldom source text has them.
func rarity(c byte) int {
	const common = " etaoinrs_lcdumpfhg"
	if i := strings.IndexByte(common, c); i >= 0 {
		return i
	}
	return len(common)
}

// index is the first place of the literal in text, or -1.
func (l *literal) index(text []byte) int {
	if !l.fold {
		return bytes.Index(text, l.text)
	}
	for at := 0; at+len(l.text) <= len(text); {
		n := indexEither(text[at+l.rare:], l.text[l.rare])
		if n < 0 || at+n+len(l.text) > len(text) {
			return -1
		}
		at += n
		if bytes.EqualFold(text[at:at+len(l.text)], l.text) {
			return at
		}
		at++
	}
	return -1
}

// indexEither is the first place of a lower case byte or its upper case.
func indexEither(text []byte, lower byte) int {
	at := bytes.IndexByte(text, lower)
	if lower < 'a' || lower > 'z' {
		return at
	}
	if at >= 0 {
		text = text[:at]
	}
	if upper := bytes.IndexByte(text, lower-'a'+'A'); upper >= 0 {
		return upper
	}
	return at
}
