package workspace

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// pattern is a compiled search pattern. It matches line by line.
type pattern struct {
	expr     *regexp.Regexp
	wide     *regexp.Regexp // for lines beyond ASCII; nil: expr
	literals []literal      // every matching line holds one of them; none: not known
	filter   *lineFilter    // tells where to look when there are none; nil: everywhere
	plain    bool           // a line that holds one matches

	// What literals find is looked at by a filter too, once it pays to build one.
	looks atomic.Int32
	later func() *lineFilter
}

// looksBefore is how many lines are looked at before a filter is built for more.
const looksBefore = 200

// compilePattern compiles a regular expression (RE2). The error is a sentence
// that says how to search for the text itself.
func compilePattern(source string) (*pattern, error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is no valid regular expression: %s; to search for exactly this text, escape it: %s",
			source, strings.TrimPrefix(err.Error(), "error parsing regexp: "), regexp.QuoteMeta(source))
	}
	if spansLines(tree) {
		return nil, fmt.Errorf("the pattern %q holds a line break, but a search goes line by line; search for one of its lines", source)
	}
	expr, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be used: %w", source, err)
	}
	p := &pattern{
		expr:     expr,
		literals: literals(tree),
		plain:    tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0 && !slices.Contains(tree.Rune, '\r'),
	}
	if wide := widened(source); wide != source {
		if p.wide, err = regexp.Compile(wide); err != nil {
			return nil, fmt.Errorf("the pattern %q cannot be used: %w", source, err)
		}
	}
	if !p.plain && !selective(p.literals) {
		p.filter = newLineFilter(tree)
	}
	p.later = sync.OnceValue(func() *lineFilter { return newLineFilter(tree) })
	return p, nil
}

// spansLines reports whether a pattern asks for a line break.
func spansLines(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		for _, r := range re.Rune {
			if r == '\n' {
				return true
			}
		}
	}
	for _, sub := range re.Sub {
		if spansLines(sub) {
			return true
		}
	}
	return false
}

// matches calls hit with the offset of each matching line of text, which holds
// whole lines.
func (p *pattern) matches(text []byte, hit func(start int)) {
	next := make([]int, 0, maxLiterals) // where each literal is found next
	beyond := -1                        // where the filter, which knows ASCII, says nothing next
	if p.wide != nil {
		beyond = beyondASCII(text, 0)
	}
	for at := 0; at < len(text); {
		candidate, sure := at, false
		if p.filter != nil {
			candidate, sure = p.filter.candidate(text, at)
		} else if len(p.literals) > 0 {
			candidate, next = p.candidate(text, at, next)
		}
		if beyond >= 0 && beyond < at {
			beyond = beyondASCII(text, at)
		}
		if beyond >= 0 && (candidate < 0 || beyond < candidate) {
			candidate, sure = beyond, false
		}
		if candidate < 0 {
			return
		}
		start := at + bytes.LastIndexByte(text[at:candidate], '\n') + 1
		end := len(text)
		if n := bytes.IndexByte(text[candidate:], '\n'); n >= 0 {
			end = candidate + n
		}
		line := text[start:end]
		switch {
		case p.plain:
			hit(start)
		case sure && !bytes.HasSuffix(line, []byte{'\r'}):
			hit(start)
		case p.inLine(bytes.TrimSuffix(line, []byte{'\r'})):
			hit(start)
		}
		at = end + 1
	}
}

// inLine tells whether a line matches, which has no line end.
func (p *pattern) inLine(line []byte) bool {
	if p.wide != nil && beyondASCII(line, 0) >= 0 {
		return p.wide.Match(line)
	}
	if p.filter == nil && (p.looks.Load() > looksBefore || p.looks.Add(1) > looksBefore) {
		if f := p.later(); f != nil {
			if at, sure := f.candidate(line, 0); at < 0 || sure {
				return at >= 0
			}
		}
	}
	return p.expr.Match(line)
}

// candidate is the first place from at on where a literal is; -1: none.
func (p *pattern) candidate(text []byte, at int, next []int) (int, []int) {
	if len(next) == 0 {
		for range p.literals {
			next = append(next, -1)
		}
	}
	first := len(text)
	for i := range p.literals {
		if next[i] < at {
			next[i] = len(text)
			if n := p.literals[i].index(text[at:]); n >= 0 {
				next[i] = at + n
			}
		}
		first = min(first, next[i])
	}
	if first == len(text) {
		return -1, next
	}
	return first, next
}
