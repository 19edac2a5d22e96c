package search

import "strings"

// The classes of Perl in all scripts, as rg has them (UTS 18, annex C).
const (
	wordClass  = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}`
	digitClass = `\p{Nd}`
	spaceClass = `\s\x{b}\x{85}\p{Z}`
)

// unicodeClasses returns a regular expression in which \w, \d and \s match letters, digits
// and space of all scripts; for package regexp they match only ASCII. Word boundaries are
// not changed.
func unicodeClasses(source string) string {
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
			if wide := unicodeClass(rest[1], class); wide != "" {
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
			n = len(rest) - len(strings.TrimPrefix(strings.TrimPrefix(rest[1:], "^"), "]")) // a first ] is a literal
		}
		out.WriteString(rest[:n])
		i += n
	}
	return out.String()
}

// unicodeClass returns the class that replaces an escape. If the escape stays, it returns "": a
// class cannot contain the opposite of several others.
func unicodeClass(escape byte, inClass bool) string {
	holds := map[byte]string{'w': wordClass, 'd': digitClass, 's': spaceClass}[escape|0x20]
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
