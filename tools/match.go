package tools

import (
	"sort"
	"strings"
)

// span is a piece of a text, in bytes.
type span struct{ start, end int }

// view is a text in which each CRLF reads as LF, as the model sees it.
type view struct {
	text string
	cuts []int // where in text a carriage return was left out
}

// viewOf is the view of text in which to look for wanted. A wanted text that
// itself holds carriage returns is looked for as it is, when it is there.
func viewOf(text, wanted string) view {
	if !strings.Contains(text, "\r\n") || strings.Contains(wanted, "\r") && strings.Contains(text, wanted) {
		return view{text: text}
	}
	var b strings.Builder
	b.Grow(len(text))
	v := view{}
	rest := text
	for {
		before, after, found := strings.Cut(rest, "\r\n")
		b.WriteString(before)
		if !found {
			break
		}
		v.cuts = append(v.cuts, b.Len())
		b.WriteByte('\n')
		rest = after
	}
	v.text = b.String()
	return v
}

// find returns the places of wanted in the text that v views. Each search goes on
// step bytes after the last place: 1 finds places that overlap.
func (v view) find(wanted string, step int) []span {
	if len(v.cuts) > 0 {
		wanted = strings.ReplaceAll(wanted, "\r\n", "\n")
		step = min(step, len(wanted))
	}
	var spans []span
	for at := 0; at < len(v.text); {
		i := strings.Index(v.text[at:], wanted)
		if i < 0 {
			break
		}
		at += i
		spans = append(spans, span{v.original(at), v.original(at + len(wanted))})
		at += step
	}
	return spans
}

// original is the place in the viewed text of a place in v: a line feed that
// stands for CRLF begins at its carriage return.
func (v view) original(at int) int { return at + sort.SearchInts(v.cuts, at) }

// splice puts text in the place of each span.
func splice(old string, spans []span, text string) string {
	var b strings.Builder
	last := 0
	end := lineEndsOf(old)
	for _, s := range spans {
		b.WriteString(old[last:s.start])
		b.WriteString(withLineEnds(text, old[s.start:s.end], end(s)))
		last = s.end
	}
	b.WriteString(old[last:])
	return b.String()
}

// withLineEnds gives text the line ends of the place it is put in. Lines at its
// beginning and end that are those of the old text keep theirs, whatever they are.
func withLineEnds(text, old, end string) string {
	if end == "" || !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.SplitAfter(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	before := strings.SplitAfter(old, "\n")
	same := func(i, j int) bool { return lines[i] == strings.ReplaceAll(before[j], "\r\n", "\n") }
	n := min(len(lines), len(before))
	head := 0
	for head < n && same(head, head) {
		lines[head] = before[head]
		head++
	}
	tail := 0
	for tail < n-head && same(len(lines)-1-tail, len(before)-1-tail) {
		lines[len(lines)-1-tail] = before[len(before)-1-tail]
		tail++
	}
	if end != "\n" {
		for i := head; i < len(lines)-tail; i++ {
			if line, ended := strings.CutSuffix(lines[i], "\n"); ended {
				lines[i] = line + end
			}
		}
	}
	return strings.Join(lines, "")
}

// lineEndsOf tells how lines end at a place; in most texts all do alike.
func lineEndsOf(text string) func(span) string {
	always := func(end string) func(span) string { return func(span) string { return end } }
	switch all, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n"); {
	case all == 0:
		return always("")
	case crlf == 0:
		return always("\n")
	case crlf == all:
		return always("\r\n")
	}
	return func(s span) string { return lineEndAt(text, s) }
}

// lineEndAt is how lines end at s: inside it, else after it, else before it.
// Empty: the text is a single line.
func lineEndAt(text string, s span) string {
	at := strings.LastIndexByte(text[:s.end], '\n')
	if at < s.start {
		if after := strings.IndexByte(text[s.end:], '\n'); after >= 0 {
			at = s.end + after
		}
	}
	switch {
	case at < 0:
		return ""
	case at > 0 && text[at-1] == '\r':
		return "\r\n"
	default:
		return "\n"
	}
}
