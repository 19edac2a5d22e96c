package config

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// variables are the variables of a .env, with their lines.
type variables struct {
	values map[string]string
	lines  map[string]int
}

var (
	variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	setsVariable = lazyregexp.New(`^\s*(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=\s*[^=\s]`)
)

// dotenv reads the lines of a .env: NAME=value, NAME: value, with or without export. A quoted value
// can contain escapes, span several lines, and precede a comment. All other lines are problems.
func (r *reader) dotenv(file, text string) variables {
	out := variables{map[string]string{}, map[string]int{}}
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	for i := 0; i < len(lines); i++ {
		n, line := i+1, trimPasted(lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := assignment(line)
		if !ok {
			r.problem(file, n, "is no NAME=value line; it is ignored")
			continue
		}
		quoted, more, problem := quotedValue(value, lines[i+1:])
		i += more
		if problem != "" {
			r.problem(file, n, fmt.Sprintf("the value of %s %s", name, problem))
		}
		if first, _ := firstRune(trimPasted(value)); first != '\'' {
			var unset string
			if quoted, unset = r.filledIn(quoted, out.values); unset != "" {
				r.problem(file, n, fmt.Sprintf("the value of %s refers to %s, which is not set before it; it is used as it is", name, unset))
			}
		}
		out.values[name], out.lines[name] = quoted, n
	}
	return out
}

// reference matches ${NAME} and ${NAME:-default}, as Hermes Agent reads them.
var reference = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// filledIn replaces references to variables of the environment and of earlier lines. unset is a
// variable without a value and a default.
func (r *reader) filledIn(value string, earlier map[string]string) (filled, unset string) {
	filled = reference.ReplaceAllStringFunc(value, func(text string) string {
		parts := reference.FindStringSubmatch(text)
		for _, known := range []map[string]string{r.env, earlier} {
			if v := known[parts[1]]; v != "" {
				return v
			}
		}
		if parts[2] == "" {
			unset = parts[1]
			return text
		}
		return parts[2][len(":-"):]
	})
	return filled, unset
}

// assignment divides a line at the first = or colon.
func assignment(line string) (name, value string, ok bool) {
	for _, word := range []string{"export", "set", "$env:"} {
		rest, found := strings.CutPrefix(line, word)
		if found && (word == "$env:" || strings.TrimLeft(rest, " \t") != rest) {
			line = trimPasted(rest)
			break
		}
	}
	at := strings.IndexAny(line, "=:")
	if at < 0 {
		return "", "", false
	}
	name, value = trimPasted(line[:at]), line[at+1:]
	if line[at] == ':' && value != "" && !unicode.IsSpace([]rune(value)[0]) { // such as a URL
		return "", "", false
	}
	if n := len(name); n > 1 && (name[0] == '"' || name[0] == '\'') && name[n-1] == name[0] {
		name = name[1 : n-1]
	}
	name = withoutInvisible(name)
	return name, value, variableName.MatchString(name)
}

// closingQuote maps an opening quote to its closing quotes. Typographic quotes come from pasted
// text.
var closingQuote = map[rune]string{'"': `"`, '\'': "'", '“': "”", '‘': "’", '”': "”", '’': "’", '„': "“", '«': "»"}

// quotedValue returns the value after a name. A quoted value can continue in later lines: more is
// their number. problem describes an odd value.
func quotedValue(text string, later []string) (value string, more int, problem string) {
	blank := strings.TrimLeftFunc(text, isPasted) != text
	text = trimPasted(text)
	first, rest := firstRune(text)
	end, ok := closingQuote[first]
	if !ok {
		return plainAfter(text, blank), 0, ""
	}
	if value, after, found := cutQuote(rest, end); found {
		return closed(first, value, after, text)
	}
	whole := rest
	for i, line := range later {
		if setsVariable.MatchString(line) {
			break
		}
		whole += "\n" + line
		if value, after, found := cutQuote(whole, end); found {
			value, _, problem = closed(first, value, after, whole)
			return value, i + 1, problem
		}
	}
	return plainAfter(rest, blank), 0, fmt.Sprintf("begins with %c and has no closing quote; it is used without the quote", first)
}

// plainAfter returns a value without quotes, up to a comment.
func plainAfter(text string, blank bool) string {
	if blank && strings.HasPrefix(text, "#") {
		return ""
	}
	before := '='
	if at := strings.IndexFunc(text, func(r rune) bool {
		found := r == '#' && isPasted(before)
		before = r
		return found
	}); at > 0 {
		text = text[:at]
	}
	return trimPasted(text)
}

// closed returns a value whose closing quote was found. Behind it, only a comment may be.
func closed(first rune, value, after, whole string) (string, int, string) {
	after = strings.TrimRight(trimPasted(after), ",;")
	if after != "" && !strings.HasPrefix(after, "#") {
		return whole, 0, "has text behind its closing quote; it is used as it is, with the quotes"
	}
	switch first {
	case '"':
		value = escapes.Replace(value)
	case '\'':
		value = strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(value)
	default: // such quotes come from a pasted text
		value = trimPasted(value)
	}
	return value, 0, ""
}

// escapes are Hermes Agent's escapes between double quotes.
var escapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`, `\n`, "\n", `\r`, "\r", `\t`, "\t", `\a`, "\a", `\b`, "\b", `\f`, "\f", `\v`, "\v")

// cutQuote cuts text at the closing quote.
func cutQuote(text, end string) (before, after string, found bool) {
	for at := 0; at < len(text); at++ {
		switch {
		case text[at] == '\\' && len(end) == 1:
			at++
		case strings.HasPrefix(text[at:], end):
			return text[:at], text[at+len(end):], true
		}
	}
	return text, "", false
}

func firstRune(text string) (first rune, rest string) {
	for i, r := range text {
		if i > 0 {
			return first, text[i:]
		}
		first = r
	}
	return first, ""
}

// invisible reports whether a character is invisible. Text from web pages and chats contains such
// characters.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r)
}

// isPasted reports whether a character at an end of a text comes from pasting it.
func isPasted(r rune) bool { return unicode.IsSpace(r) || invisible(r) }

func trimPasted(text string) string { return strings.TrimFunc(text, isPasted) }

func withoutInvisible(text string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, text)
}

// CleanKey returns an API key without the characters added by pasting: invisible characters, white
// space and quotes around it, a trailing comma or semicolon, and the word Bearer. If a character is
// left that headers cannot contain, odd is this character.
func CleanKey(text string) (key string, odd rune) {
	key = strings.TrimRight(trimPasted(withoutInvisible(text)), ",;")
	if first, rest := firstRune(key); closingQuote[first] != "" || first == '`' {
		end := closingQuote[first]
		if first == '`' {
			end = "`"
		}
		if inner, ok := strings.CutSuffix(rest, end); ok {
			key = trimPasted(inner)
		}
	}
	if len(key) > 7 && strings.EqualFold(key[:7], "Bearer ") {
		key = trimPasted(key[7:])
	}
	for _, r := range key {
		if r < ' ' || r > '~' {
			return key, r
		}
	}
	return key, 0
}
