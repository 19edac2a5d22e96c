package search

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// pattern is a compiled search pattern. It matches line by line.
type pattern struct {
	expr     *regexp.Regexp
	literals [][]byte // at least one is in every matching line; empty: unknown
	fold     bool     // in any case; the literals are in lower case
}

// compilePattern compiles a regular expression (RE2), in which \w, \d and \s match in all scripts.
// If it is invalid, the error is a [*QueryError] that explains how to search for literal text.
func compilePattern(source string) (*pattern, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, queryError("the pattern %q is no valid regular expression: %s; to search for exactly this text, escape it: %s",
			source, strings.TrimPrefix(err.Error(), "error parsing regexp: "), regexp.QuoteMeta(source))
	}
	if spansLines(tree) {
		return nil, queryError("the pattern %q holds a line break, but a search goes line by line; search for one of its lines", source)
	}
	expr, err := regexp.Compile(unicodeClasses(source))
	if err != nil {
		return nil, queryError("the pattern %q cannot be used: %v", source, err)
	}
	p := &pattern{expr: expr, literals: literals(tree), fold: ignoresCase(tree)}
	for i, literal := range p.literals {
		if p.fold {
			p.literals[i] = lower(nil, literal)
		}
	}
	return p, nil
}

// spansLines reports whether a pattern contains a line break.
func spansLines(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') {
		return true
	}
	return slices.ContainsFunc(re.Sub, spansLines)
}

// matches calls hit with the offset of each matching line of text, which has whole
// lines. The end of a line, LF or CRLF, is not part of it.
func (p *pattern) matches(text []byte, hit func(start int)) {
	searched := text
	if p.fold && len(p.literals) > 0 {
		searched = lower(make([]byte, 0, len(text)), text)
	}
	filter := newPrefilter(searched, p.literals)
	for at := 0; at < len(text); {
		candidate := filter.from(at)
		if candidate < 0 {
			return
		}
		start := at + bytes.LastIndexByte(text[at:candidate], '\n') + 1
		end := len(text)
		if n := bytes.IndexByte(text[candidate:], '\n'); n >= 0 {
			end = candidate + n
		}
		if p.expr.Match(bytes.TrimSuffix(text[start:end], []byte{'\r'})) {
			hit(start)
		}
		at = end + 1
	}
}

// QueryError reports an invalid query. Its text is for the model.
type QueryError struct{ text string }

func (e *QueryError) Error() string { return e.text }

func queryError(format string, args ...any) error {
	return &QueryError{fmt.Sprintf(format, args...)}
}
