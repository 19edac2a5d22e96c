package workspace

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"regexp/syntax"
	"strings"
	"unicode"
)

// literal is a text that a matching line holds, so that most lines need no
// regular expression.
type literal struct {
	text []byte // lower case ASCII when fold is set
	fold bool   // in any case
	// Two of its bytes that text seldom has, to look for when fold is set.
	rare, second int
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
			l.second, l.rare = l.rare, i
		} else if l.second == l.rare || rarity(c) > rarity(l.text[l.second]) {
			l.second = i
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
	for at := 0; at+len(l.text) <= len(text); at++ {
		n := indexPair(text[at:], l.text, l.rare, l.second)
		if n < 0 {
			return -1
		}
		at += n
		if bytes.EqualFold(text[at:at+len(l.text)], l.text) {
			return at
		}
	}
	return -1
}

// indexPair is the first place at which text may hold a literal in any case, since two
// of its bytes are there; -1: it holds none. It looks at eight places at a time.
func indexPair(text, literal []byte, first, second int) int {
	const ones = 0x0101010101010101
	const caseBits, tops = 0x20 * ones, 0x80 * ones
	a, b := ones*uint64(literal[first]|0x20), ones*uint64(literal[second]|0x20)
	last := len(text) - len(literal) // the last place there may be
	at := 0
	for ; at+7 <= last; at += 8 {
		x := binary.LittleEndian.Uint64(text[at+first:]) | caseBits ^ a
		y := binary.LittleEndian.Uint64(text[at+second:]) | caseBits ^ b
		differ := x | y // a byte is zero where both are there
		if zero := (differ - ones) &^ differ & tops; zero != 0 {
			return at + bits.TrailingZeros64(zero)/8
		}
	}
	for ; at <= last; at++ {
		if text[at+first]|0x20 == literal[first]|0x20 && text[at+second]|0x20 == literal[second]|0x20 {
			return at
		}
	}
	return -1
}
