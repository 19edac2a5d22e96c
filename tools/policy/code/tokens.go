package code

import (
	"cmp"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"mvdan.cc/sh/v3/expand"
)

// token is a name, a text, or one sign of code.
type token struct {
	kind kind
	text string // of a name with its members: "os.remove", or ".unlink" behind another value
	code string // of a text: the code in it
	pair int    // of a bracket: how far behind it, or before it, the other one stands; without one, the end
}

type kind byte

const (
	lineToken   kind = iota // the end of a line, with the indentation of the next
	nameToken               // a name
	signToken               // a sign, a number, or a word of the language
	textToken               // a text
	filledToken             // a text into which something is filled when the code runs
	shellToken              // a text that a shell runs
	oddToken                // begins a text, but its end is not clear
	importToken             // an import of Python
)

// spelling has regular expressions for the parts of code in a language.
type spelling struct {
	skipped string // comments, and others that have no effect
	imports string // statements that import
	texts   string
	odd     string // the begin of a text that is none of these, with all behind it
	joint   string // stands between a value and its member
	words   string // words and signs of several characters
	before  string // words and signs behind which a pattern may stand
	filled  string // code that is filled into a text
}

// language splits code into tokens.
type language struct {
	name   string
	lexer  *lazyregexp.Regexp // its groups are an import, a text, an odd begin, a sign, one before a pattern, a name, a line, any sign
	joint  *lazyregexp.Regexp
	filled *lazyregexp.Regexp
}

// Parts of spellings.
const (
	double   = `"(?s:\\.|[^"\\])*(?:"|\z)`
	single   = `'(?s:\\.|[^'\\])*(?:'|\z)`
	backtick = "`(?s:\\\\.|[^`\\\\])*(?:`|\\z)"
	slashes  = `//[^\n]*|/\*(?s:.*?)(?:\*/|\z)`
	pattern  = `(?:[ \t]*/(?:\\.|\[(?:\\.|[^\]\[\\\n])*\]|[^/*\\\[\n])(?:\\.|\[(?:\\.|[^\]\[\\\n])*\]|[^/\\\[\n])*/)?`
	word     = `[A-Za-z_\x{80}-\x{10FFFF}][\w\x{80}-\x{10FFFF}]*`
	imported = `[\w\x{80}-\x{10FFFF}.,* \t]|\\\n`
	never    = `[^\x00-\x{10FFFF}]`
	// Code in braces, in which texts and up to two levels of braces are closed.
	flat   = "[^{}\"'`]|\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`(?:\\\\.|[^`\\\\])*`"
	braced = `\{(?s:` + flat + `|\{(?:` + flat + `|\{(?:` + flat + `)*\})*\})*\}`
	format = `(?i:rb?[ft]|[ft]rb?|[ft])`
)

var languages = map[string]*language{
	"python": newLanguage("python", spelling{
		skipped: `#[^\n]*`,
		imports: `(?:from\b(?:[\w. \t]|\\\n)*|\b)import\b(?:` + imported + `|\((?:` + imported + `|#[^\n]*|\n)*\))*`,
		texts: format + `(?:"""(?s:\\[^{]|\{\{|\\?` + braced + `|[^\\{])*?"""|'''(?s:\\[^{]|\{\{|\\?` + braced + `|[^\\{])*?'''|` +
			`"(?s:\\[^{]|\{\{|\\?` + braced + `|[^\\{"])*"|'(?s:\\[^{]|\{\{|\\?` + braced + `|[^\\{'])*')|` +
			`(?i:[rbu]{0,2})(?:"""(?s:\\.|[^\\])*?(?:"""|\z)|'''(?s:\\.|[^\\])*?(?:'''|\z)|` + double + `|` + single + `)`,
		odd:    format + `["'](?s:.*)`,
		joint:  `\.`,
		words:  `from\b`,
		filled: `\{\{|` + braced,
	}),
	"javascript": newLanguage("javascript", spelling{
		skipped: slashes + `|\?\.`,
		texts:   `"(?s:\\.|[^"\\\n])*"?|'(?s:\\.|[^'\\\n])*'?|\$?` + "`(?s:\\$*(?:\\\\.|[^`\\\\${])|\\{|\\$+" + braced + ")*\\$*`",
		odd:     "`(?s:.*)|(?:\\A|[}\\n]|\\b(?:await|yield|of)\\b)\\s*/[^/*]",
		joint:   `\.|\?\.`,
		words:   `\+\+|--|://|\.\.\.`,
		before:  `(?:return|typeof|case|else|do|void|delete|throw|new|in|instanceof)\b|[(\[{,;:=&|?<>~*%^+-]`,
		filled:  `\$` + braced,
	}),
	"sql": newLanguage("sql", spelling{skipped: `--[^\n]*|` + slashes, texts: `"[^"]*(?:"|\z)|'[^']*(?:'|\z)|` + "`[^`]*(?:`|\\z)"}),
	"":    newLanguage("", spelling{texts: double + `|` + single + `|` + backtick, joint: `\.|::|->|\?->|[?&]\.`}),
}

func newLanguage(name string, s spelling) *language {
	skipped := strings.TrimSuffix(`[\x00-\x09\x0b-\x20]+|\\\r?\n|`+s.skipped, "|")
	joint, names := never, word
	if s.joint != "" {
		joint = `(?:\n|` + skipped + `)*(?:` + s.joint + `)(?:\n|` + skipped + `)*`
		names = `(?:` + joint + `)?` + word + `(?:` + joint + word + `)*`
	}
	group := func(expression string) string { return `|(` + cmp.Or(expression, never) + `)` }
	return &language{
		name:   name,
		lexer:  lazyregexp.New(skipped + group(s.imports) + group(s.texts) + group(s.odd) + group(strings.TrimSuffix(`\d\w*|`+s.words, "|")) + group(s.before) + pattern + group(names) + group(`\n[ \t]*`) + group(`.`)),
		joint:  lazyregexp.New(joint),
		filled: lazyregexp.New(cmp.Or(s.filled, never)),
	}
}

func (l *language) tokens(src string) (list []token) {
	var open []int
	for _, m := range l.lexer.FindAllStringSubmatch(src, -1) {
		imports, text, odd, name, sign, n := m[1], m[2], m[3], m[6], m[4]+m[5]+m[7]+m[8], len(list)
		t := token{kind: signToken, text: sign}
		switch {
		case imports != "":
			t = token{kind: importToken, text: imports}
		case text != "":
			t = l.text(text)
		case odd != "":
			t = token{kind: oddToken, text: odd}
		case name != "":
			t = token{kind: nameToken, text: l.joint.ReplaceAllString(name, ".")}
		case strings.HasPrefix(sign, "\n"):
			if t = (token{kind: lineToken, text: sign[1:]}); l.name == "python" && len(open) > 0 {
				continue
			}
		case sign == "":
			continue
		case opens(t):
			open = append(open, n)
		case closes(t) && len(open) > 0:
			begin := open[len(open)-1]
			open = open[:len(open)-1]
			of, member := list[max(0, begin-1)], sign == "]" && begin == n-2 && list[n-1].kind == textToken && !strings.ContainsAny(list[n-1].text, "/~ ")
			if !member || l.name == "python" || of.kind != nameToken && !closes(of) {
				list[begin].pair, t.pair = n-begin, begin-n
				break
			}
			t = token{kind: nameToken, text: "." + list[n-1].text, code: list[n-1].code} // fs["unlink"] is fs.unlink
			if list = list[:begin]; list[begin-1].kind == nameToken {
				t.text, t.code, list = list[begin-1].text+t.text, list[begin-1].code+t.code, list[:begin-1]
			}
		}
		list = append(list, t)
	}
	for _, i := range open {
		list[i].pair = len(list) - i
	}
	return list
}

func opens(t token) bool  { return t.kind == signToken && strings.Contains("([{", t.text) }
func closes(t token) bool { return t.kind == signToken && strings.Contains(")]}", t.text) }

// text reads a text with its quotes.
func (l *language) text(src string) token {
	prefix := src[:strings.IndexAny(src, "\"'`")]
	quote := src[len(prefix) : len(prefix)+1]
	if triple := strings.Repeat(quote, 3); l.name == "python" && strings.HasPrefix(src[len(prefix):], triple) {
		quote = triple
	}
	raw, closed := strings.CutSuffix(src[len(prefix)+len(quote):], quote)
	t := token{kind: textToken, text: raw}
	if l.name != "sql" && !strings.ContainsAny(prefix, "rR") {
		t.text = Unescape(strings.ReplaceAll(raw, "\\\n", ""))
	}
	for _, m := range l.filled.FindAllStringSubmatch(raw, -1) {
		if strings.ContainsAny(prefix, "fFtT") || quote == "`" {
			t.kind, t.code = filledToken, t.code+strings.TrimLeft(m[0], "${")+"\n"
		}
	}
	switch {
	case l.name == "javascript" && prefix == "$":
		if t.kind == filledToken {
			t.text = Unknown + t.text
		}
		t.kind = shellToken
	case l.name == "" && quote == "`":
		t.kind = shellToken
	case l.name == "" && (strings.Contains(raw, "#{") || quote == `"` && strings.ContainsAny(strings.ReplaceAll(raw, `\$`, ""), "$@")):
		t.kind = filledToken
	}
	if l.name == "" || l.name == "javascript" && !closed { // the language may not mean a text
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
