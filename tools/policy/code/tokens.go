package code

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
	"golang.org/x/text/unicode/norm"
	"mvdan.cc/sh/v3/expand"
)

// token is a name, a text, or a sign of code.
type token struct {
	kind kind
	text string // of a name with its members: "os.remove", or ".unlink" behind another value
	code string // of a text: the code in it
	pair int    // of a bracket: the offset of its counterpart; without one, the offset of the end
}

const opening, closing = "([{", ")]}"

type kind byte

const (
	lineToken   kind = iota // the end of a line, with the indentation of the next
	nameToken               // a name
	signToken               // a sign, a number, or a word of the language
	textToken               // a text
	filledToken             // a text into which something is filled when the code runs
	shellToken              // shell code
	oddToken                // begins a text, but its end is not clear
	importToken             // an import of Python
)

// language splits code into tokens: "python", "javascript", "sql" or "other". Its expressions are in the rules.
type language string

var expressions sync.Map // compiled expressions by name

// expression returns an expression of the rules.
func expression(name string) *regexp.Regexp {
	e, used := expressions.Load(name)
	if !used {
		e, _ = expressions.LoadOrStore(name, regexp.MustCompile(spelled(name)))
	}
	return e.(*regexp.Regexp)
}

// spelled returns the text of an expression and fills in references: ‹name› stands for an
// expression, ‹name signs› for an alternation with § replaced by each sign.
func spelled(name string) string {
	name, signs, _ := strings.Cut(name, " ")
	parts := strings.Split(strings.ReplaceAll(rules.Reason("expression", name), "›", "‹"), "‹")
	for i := 1; i < len(parts); i += 2 {
		parts[i] = spelled(parts[i])
	}
	text := strings.Join(parts, "")
	var each []string
	for _, sign := range signs {
		each = append(each, strings.ReplaceAll(text, "§", regexp.QuoteMeta(string(sign))))
	}
	return cmp.Or(strings.Join(each, "|"), text)
}

// groups are the kinds of tokens by the groups in the expression of a language.
var groups = [...]kind{importToken, textToken, oddToken, signToken, signToken, nameToken, lineToken, signToken}

func (l language) tokens(src string) (list []token) {
	var open []int
	joint := expression(string(l) + "-joint")
	for _, m := range expression(string(l)).FindAllStringSubmatch(src, -1) {
		t, n := token{}, len(list)
		for group, kind := range groups {
			if text := m[group+1]; text != "" {
				t = token{kind: kind, text: text}
			}
		}
		switch {
		case t.text == "":
			continue
		case t.kind == textToken:
			t = l.text(t.text)
		case t.kind == nameToken:
			t.text = norm.NFKC.String(joint.ReplaceAllString(t.text, "."))
		case t.kind == lineToken:
			if t.text = t.text[1:]; l == "python" && len(open) > 0 {
				continue
			}
		case t.is(opening):
			open = append(open, n)
		case t.is(closing) && len(open) > 0:
			begin := open[len(open)-1]
			open = open[:len(open)-1]
			list[begin].pair, t.pair = n-begin, begin-n
		}
		list = append(list, t)
	}
	for _, i := range open {
		list[i].pair = len(list) - i
	}
	return list
}

// is reports whether a token is any of some signs.
func (t token) is(signs string) bool { return t.kind == signToken && strings.Contains(signs, t.text) }

// ends reports whether a statement ends before a token.
func (t token) ends() bool { return t.kind == lineToken || t.is(";") }

// at returns a token. Outside of the list, it is the end of a line.
func at(toks []token, i int) token {
	if i < 0 || i >= len(toks) {
		return token{}
	}
	return toks[i]
}

// text reads a text with its quotes.
func (l language) text(src string) token {
	prefix := src[:strings.IndexAny(src, "\"'`")]
	quote := src[len(prefix) : len(prefix)+1]
	if triple := strings.Repeat(quote, 3); l == "python" && strings.HasPrefix(src[len(prefix):], triple) {
		quote = triple
	}
	raw, closed := strings.CutSuffix(src[len(prefix)+len(quote):], quote)
	t := token{kind: textToken, text: raw}
	if l != "sql" && !strings.ContainsAny(prefix, "rR") {
		t.text = Unescape(strings.ReplaceAll(raw, "\\\n", ""))
	}
	for _, m := range expression(string(l)+"-filled").FindAllStringSubmatch(raw, -1) {
		if strings.ContainsAny(prefix, "fFtT") || quote == "`" {
			t.kind, t.code = filledToken, t.code+strings.TrimLeft(m[0], "${")+"\n"
		}
	}
	switch {
	case prefix == "$", l == "other" && quote == "`":
		if t.kind == filledToken {
			t.text = Unknown + t.text
		}
		t.kind = shellToken
	case l == "other" && (strings.Contains(raw, "#{") || quote == `"` && strings.ContainsAny(strings.ReplaceAll(raw, `\$`, ""), "$@")):
		t.kind = filledToken
	}
	if l == "other" || l == "javascript" && !closed { // the language may not mean a text
		t.code = raw + "\n" + t.text
	}
	return t
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
