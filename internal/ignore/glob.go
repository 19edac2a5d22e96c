package ignore

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// rule is a line of an ignore file, or a glob of a search.
type rule struct {
	negated   bool // "!": not ignored after all
	dir       bool // trailing "/": matches only directories
	whole     bool // matches the path relative to the directory of the rule, not the name alone
	literal   string
	suffix    string // "*" and then this
	expr      func() *regexp.Regexp
	matchable bool
}

// parseRule parses a line of an ignore file. If the line contains no rule, ok is false.
func parseRule(text string) (r rule, ok bool) {
	text = trimSpaces(text)
	if text == "" || text[0] == '#' {
		return rule{}, false
	}
	if text[0] == '!' {
		r.negated, text = true, text[1:]
	}
	if strings.HasSuffix(text, "/") {
		r.dir, text = true, strings.TrimSuffix(text, "/")
	}
	if text == "" {
		return rule{}, false
	}
	r.whole = strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	// A pattern invalid for git matches nothing.
	r.matchable = r.compile(text, false) == nil
	return r, true
}

// trimSpaces drops the spaces at the end, unless a backslash protects them.
func trimSpaces(text string) string {
	end := len(text)
	for end > 0 && text[end-1] == ' ' {
		end--
	}
	if end < len(text) {
		slashes := 0
		for slashes < end && text[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 1 {
			end++
		}
	}
	return text[:end]
}

// compile prepares the rule to match a glob. Most rules are a name or "*.ext".
func (r *rule) compile(glob string, braces bool) error {
	const special = `*?[]\{}`
	if glob == "" {
		return errors.New("it is empty")
	}
	if !strings.ContainsAny(glob, special) {
		r.literal = glob
		return nil
	}
	if rest := strings.TrimPrefix(glob, "*"); !r.whole && rest != glob && rest != "" && !strings.ContainsAny(rest, special) {
		r.suffix = rest
		return nil
	}
	expr, err := globExpr(glob, braces)
	if err != nil {
		return err
	}
	r.expr = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	return nil
}

// matches reports whether the rule matches a path: rel is relative to the directory of
// the rule, with slashes; name is its last component.
func (r *rule) matches(rel, name string, isDir bool) bool {
	if !r.matchable || r.dir && !isDir {
		return false
	}
	if !r.whole {
		rel = name
	}
	switch {
	case r.literal != "":
		return rel == r.literal
	case r.suffix != "":
		return strings.HasSuffix(rel, r.suffix)
	}
	return r.expr().MatchString(rel)
}

// globExpr returns a glob as a regular expression. It matches in linear time even for the worst
// globs of a hostile repository. "*" and "?" do not match a slash, "**" between slashes matches any
// number of directories. If braces is set, {a,b} matches a or b.
func globExpr(glob string, braces bool) (string, error) {
	var out strings.Builder
	out.WriteString(`(?s)\A`)
	depth := 0
	for i := 0; i < len(glob); {
		n := 1
		switch c := glob[i]; {
		case c == '*':
			n = writeStars(&out, glob, i, braces)
		case c == '?':
			out.WriteString(`[^/]`)
		case c == '[':
			class, size, err := globClass(glob[i:])
			if err != nil {
				return "", err
			}
			out.WriteString(class)
			n = size
		case c == '\\':
			if i+1 == len(glob) {
				return "", errors.New("it ends with a backslash")
			}
			_, size := utf8.DecodeRuneInString(glob[i+1:])
			out.WriteString(regexp.QuoteMeta(glob[i+1 : i+1+size]))
			n = 1 + size
		case braces && c == '{':
			out.WriteString("(?:")
			depth++
		case braces && c == '}' && depth > 0:
			out.WriteString(")")
			depth--
		case braces && c == ',' && depth > 0:
			out.WriteString("|")
		default:
			_, n = utf8.DecodeRuneInString(glob[i:])
			out.WriteString(quoteBytes(glob[i : i+n]))
		}
		i += n
	}
	if depth > 0 {
		return "", errors.New("a { has no }")
	}
	out.WriteString(`\z`)
	expr := out.String()
	if _, err := regexp.Compile(expr); err != nil {
		return "", fmt.Errorf("it is too large: %w", err)
	}
	return expr, nil
}

// quoteBytes quotes a character. An invalid UTF-8 byte matches U+FFFD, as in regexp.
func quoteBytes(s string) string {
	if r, _ := utf8.DecodeRuneInString(s); r == utf8.RuneError {
		return `\x{FFFD}`
	}
	return regexp.QuoteMeta(s)
}

// writeStars writes the stars at glob[i] and returns their length. In ignore files, stars after a
// prefix without special characters count as stars after a slash: git compares the prefix first and
// then drops it.
func writeStars(out *strings.Builder, glob string, i int, braces bool) int {
	end := i
	for end < len(glob) && glob[end] == '*' {
		end++
	}
	first := i == 0 || glob[i-1] == '/' || !braces && !strings.ContainsAny(glob[:i], `*?[\`)
	switch {
	case first && end-i > 1 && end == len(glob):
		out.WriteString(`.*`)
	case first && end-i > 1 && glob[end] == '/':
		out.WriteString(`(?:.*/)?`)
		end++
	default:
		out.WriteString(`[^/]*`)
	}
	return end - i
}

// The POSIX classes, without the slash, which no class matches.
var posixClasses = map[string]string{
	"alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": ` \t`, "cntrl": `\x00-\x1f\x7f`,
	"digit": "0-9", "graph": `!-.0-~`, "lower": "a-z", "print": ` -.0-~`,
	"punct": `!-.:-@\[-` + "`" + `{-~`, "space": `\t-\r `, "upper": "A-Z", "xdigit": "0-9A-Fa-f",
}

var errClass = errors.New("a [ has no ]")

// globClass writes the bracket expression at the start of glob and returns its size.
func globClass(glob string) (class string, size int, err error) {
	i := 1
	negated := i < len(glob) && (glob[i] == '!' || glob[i] == '^')
	if negated {
		i++
	}
	var set strings.Builder
	for first := true; ; first = false {
		if i >= len(glob) {
			return "", 0, errClass
		}
		if glob[i] == ']' && !first {
			break
		}
		if strings.HasPrefix(glob[i:], "[:") {
			// A [: without its :] is two characters of the set, as in git.
			if name, closed := strings.CutSuffix(upTo(glob[i+2:], ']'), ":"); closed {
				ranges, ok := posixClasses[name]
				if !ok {
					return "", 0, fmt.Errorf("[:%s:] is no class", name)
				}
				set.WriteString(ranges)
				i += len("[:") + len(name) + len(":]")
				continue
			}
		}
		low, n, err := classRune(glob[i:])
		if err != nil {
			return "", 0, err
		}
		i += n
		high := low
		if i+1 < len(glob) && glob[i] == '-' && glob[i+1] != ']' {
			high, n, err = classRune(glob[i+1:])
			if err != nil {
				return "", 0, err
			}
			i += 1 + n
		}
		writeRange(&set, low, high)
	}
	size = i + 1
	switch {
	case negated:
		return "[^/" + set.String() + "]", size, nil
	case set.Len() == 0:
		return `[^\x00-\x{10FFFF}]`, size, nil // nothing is in it
	}
	return "[" + set.String() + "]", size, nil
}

// upTo returns the part of text before the first end. If there is no end, it is empty.
func upTo(text string, end byte) string {
	return text[:max(0, strings.IndexByte(text, end))]
}

func classRune(glob string) (r rune, size int, err error) {
	if glob[0] == '\\' {
		if len(glob) == 1 {
			return 0, 0, errClass
		}
		r, size = utf8.DecodeRuneInString(glob[1:])
		return r, size + 1, nil
	}
	r, size = utf8.DecodeRuneInString(glob)
	return r, size, nil
}

// writeRange writes the runes from low to high, leaving out the slash.
func writeRange(set *strings.Builder, low, high rune) {
	for _, r := range [][2]rune{{low, min(high, '/'-1)}, {max(low, '/'+1), high}} {
		if r[0] <= r[1] {
			fmt.Fprintf(set, `\x{%X}-\x{%X}`, r[0], r[1])
		}
	}
}

// NamePattern returns a function that reports whether a search by name finds a file: rel is its
// path relative to the start of the search, with slashes, and name the last component. A pattern
// without special characters matches all names that contain it. Other patterns are globs. If the
// pattern has a slash, it is matched against rel.
func NamePattern(pattern string) (func(rel, name string) bool, error) {
	whole := strings.Contains(pattern, "/")
	subject := func(rel, name string) string {
		if whole {
			return "/" + rel
		}
		return name
	}
	if !strings.ContainsAny(pattern, `*?[{\`) {
		return func(rel, name string) bool { return strings.Contains(subject(rel, name), pattern) }, nil
	}
	if whole && !strings.HasPrefix(pattern, "/") {
		pattern = "**/" + pattern
	}
	r := rule{whole: whole, matchable: true}
	if err := r.compile(strings.TrimPrefix(pattern, "/"), true); err != nil {
		return nil, fmt.Errorf("the file pattern %q is no valid glob: %w", pattern, err)
	}
	return func(rel, name string) bool { return r.matches(rel, name, false) }, nil
}
