package workspace

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// What the classes of Perl mean beyond ASCII, as rg has it (UTS 18, annex C).
const (
	wideWord  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}`
	wideDigit = `\p{Nd}`
	wideSpace = `\s\x{b}\x{85}\p{Z}`
)

// widened is a regular expression in which \w, \d and \s hold letters, digits and space
// of all scripts, which for package regexp are ASCII. Word boundaries stay what they
// are. It is the source itself where there is nothing to widen.
func widened(source string) string {
	var out strings.Builder
	class := false
	for i := 0; i < len(source); {
		rest := source[i:]
		n := 1
		switch {
		case strings.HasPrefix(rest, `\Q`):
			n = len(rest)
			if end := strings.Index(rest, `\E`); end >= 0 {
				n = end + len(`\E`)
			}
		case rest[0] == '\\' && len(rest) > 1:
			if wide := widenedClass(rest[1], class); wide != "" {
				out.WriteString(wide)
				i += 2
				continue
			}
			n = 2
		case class && strings.HasPrefix(rest, "[:"):
			if end := strings.Index(rest, ":]"); end >= 0 {
				n = end + len(":]")
			}
		case class:
			class = rest[0] != ']'
		case rest[0] == '[':
			class = true
			n = len(rest) - len(strings.TrimPrefix(strings.TrimPrefix(rest[1:], "^"), "]")) // a first ] is itself
		}
		out.WriteString(rest[:n])
		i += n
	}
	return out.String()
}

// widenedClass is what stands for an escape; empty: it stays. A class cannot hold the
// opposite of several others.
func widenedClass(escape byte, inClass bool) string {
	holds := map[byte]string{'w': wideWord, 'd': wideDigit, 's': wideSpace}[escape|0x20]
	switch opposite := escape&0x20 == 0; {
	case holds == "":
		return ""
	case inClass && escape == 'D':
		return `\P{Nd}`
	case inClass && opposite:
		return ""
	case inClass:
		return holds
	case opposite:
		return "[^" + holds + "]"
	default:
		return "[" + holds + "]"
	}
}

// beyondASCII is the first place from at on that is not ASCII; -1: there is none.
func beyondASCII(text []byte, at int) int {
	for ; at+8 <= len(text); at += 8 {
		if high := binary.LittleEndian.Uint64(text[at:]) & 0x8080808080808080; high != 0 {
			return at + bits.TrailingZeros64(high)/8
		}
	}
	for ; at < len(text); at++ {
		if text[at] >= utf8.RuneSelf {
			return at
		}
	}
	return -1
}
