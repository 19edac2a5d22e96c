package editorconfig

import (
	"regexp"
	"strconv"
	"strings"
)

// span is a range of numbers, such as {1..9}.
type span struct{ from, to int }

// match reports whether a glob of an .editorconfig matches a path. A glob without a slash is
// compared with the name in every directory. An invalid glob matches nothing.
func match(glob, name string) bool {
	switch slash := strings.IndexByte(glob, '/'); {
	case slash < 0:
		glob = "/**/" + glob
	case slash > 0:
		glob = "/" + glob
	}
	t := translator{in: []rune(glob), braces: balanced(glob)}
	t.all()
	// A regexp of this package takes linear time, also for globs with many stars.
	expr, err := regexp.Compile("(?s)^" + t.out.String() + "$")
	if err != nil {
		return false
	}
	found := expr.FindStringSubmatch("/" + name)
	if found == nil {
		return false
	}
	for i, s := range t.spans {
		// In an alternation, either side has no number.
		if n, err := strconv.Atoi(found[i+1]); found[i+1] != "" && (err != nil || n < s.from || n > s.to) {
			return false
		}
	}
	return true
}

// balanced reports whether each brace of a glob has a counterpart. If not, all of them are literal.
func balanced(glob string) bool {
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

// translator makes a regular expression out of a glob.
type translator struct {
	in     []rune
	at     int
	out    strings.Builder
	braces bool   // braces have their meaning
	open   []bool // the braces around the place; true: with alternatives
	spans  []span // a range for each group of the expression
}

func (t *translator) all() {
	for t.at < len(t.in) {
		r := t.in[t.at]
		t.at++
		switch {
		case r == '/' && t.follows("**/"):
			t.at += len("**/")
			t.out.WriteString("(?:/|/.*/)")
		case r == '*' && t.follows("*"):
			t.at++
			t.out.WriteString(".*")
		case r == '*':
			t.out.WriteString("[^/]*")
		case r == '?':
			t.out.WriteString("[^/]")
		case r == '[' && t.class(), r == '{' && t.braces && t.brace():
		case r == '}' && t.braces && len(t.open) > 0:
			alternatives := t.open[len(t.open)-1]
			t.open = t.open[:len(t.open)-1]
			t.out.WriteString(map[bool]string{true: ")", false: `\}`}[alternatives])
		case r == ',' && len(t.open) > 0 && t.open[len(t.open)-1]:
			t.out.WriteByte('|')
		case r == '\\' && t.at < len(t.in):
			t.literal(t.in[t.at])
			t.at++
		default:
			t.literal(r)
		}
	}
}

func (t *translator) literal(r rune) { t.out.WriteString(regexp.QuoteMeta(string(r))) }

func (t *translator) follows(text string) bool {
	end := t.at + len(text)
	return end <= len(t.in) && string(t.in[t.at:end]) == text
}

// class translates the text after a "[". If it is no class, class returns false.
func (t *translator) class() bool {
	at, negated := t.at, false
	if at < len(t.in) && (t.in[at] == '!' || t.in[at] == '^') {
		at, negated = at+1, true
	}
	var set strings.Builder
	for begin := at; ; at++ {
		if at >= len(t.in) || t.in[at] == '/' {
			return false
		}
		r := t.in[at]
		if r == ']' && at > begin {
			break
		}
		if r == '\\' && at+1 < len(t.in) {
			at++
			r = t.in[at]
		} else if r == '-' {
			set.WriteByte('-')
			continue
		}
		if strings.ContainsRune(`[]\^-&`, r) {
			set.WriteByte('\\')
		}
		set.WriteRune(r)
	}
	t.at = at + 1
	if negated {
		t.out.WriteString("[^/" + set.String() + "]")
	} else {
		t.out.WriteString("[" + set.String() + "]")
	}
	return true
}

var number = regexp.MustCompile(`^([+-]?\d{1,15})\.\.([+-]?\d{1,15})$`)

// brace translates a "{" and checks for alternatives. It translates a whole range of numbers.
// Braces around a single text are literal.
func (t *translator) brace() bool {
	depth, end, alternatives := 0, t.at, false
	for ; end < len(t.in); end++ {
		r := t.in[end]
		if r == '\\' {
			end++
			continue
		}
		if r == '}' && depth == 0 {
			break
		}
		switch {
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == ',' && depth == 0:
			alternatives = true
		}
	}
	if end < len(t.in) && !alternatives {
		if m := number.FindStringSubmatch(string(t.in[t.at:end])); m != nil {
			from, _ := strconv.Atoi(m[1]) // 15 digits fit
			to, _ := strconv.Atoi(m[2])
			t.spans = append(t.spans, span{min(from, to), max(from, to)})
			t.out.WriteString(`([+-]?(?:0|[1-9]\d*))`)
			t.at = end + 1
			return true
		}
	}
	t.open = append(t.open, alternatives)
	t.out.WriteString(map[bool]string{true: "(?:", false: `\{`}[alternatives])
	return true
}
