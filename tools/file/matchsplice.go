package file

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/diff"
)

// apply makes the replacement in every place.
func (h hits) apply() string {
	var b strings.Builder
	last := 0
	for _, s := range h.spans {
		b.WriteString(h.text[last:s.start])
		b.WriteString(h.at(s))
		last = s.end
	}
	b.WriteString(h.text[last:])
	return b.String()
}

// endedLine is a line and its line end; the last line of a text has none.
type endedLine struct{ text, end string }

func endedLines(text string) []endedLine {
	var lines []endedLine
	for line := range strings.SplitAfterSeq(text, "\n") {
		switch {
		case strings.HasSuffix(line, "\r\n"):
			lines = append(lines, endedLine{line[:len(line)-2], "\r\n"})
		case strings.HasSuffix(line, "\n"):
			lines = append(lines, endedLine{line[:len(line)-1], "\n"})
		default:
			lines = append(lines, endedLine{line, ""})
		}
	}
	return lines
}

func textsOf(lines []endedLine) []string {
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return texts
}

// at returns the text at s after the replacement. An unchanged line keeps the bytes of the file.
func (h hits) at(s span) string {
	have, old, next := endedLines(h.text[s.start:s.end]), endedLines(h.old), endedLines(h.new)
	if len(have) != len(old) { // every step keeps the number of lines
		return h.new
	}
	oldTexts, newTexts := textsOf(old), textsOf(next)
	adapt := h.adapter(s)
	style := h.end(s)
	var b strings.Builder
	write := func(text string, j, i, to int) {
		b.WriteString(text)
		switch {
		case next[j].end == "":
		case i < to && have[i].end != "":
			b.WriteString(have[i].end)
		case style != "":
			b.WriteString(style)
		default:
			b.WriteString(next[j].end)
		}
	}
	i, j := 0, 0
	for _, d := range slices.Concat(h.differences(oldTexts, newTexts), []diff.Change{{OldFrom: len(old), OldTo: len(old), NewFrom: len(next), NewTo: len(next)}}) {
		for ; i < d.OldFrom; i, j = i+1, j+1 {
			write(have[i].text, j, i, len(have))
		}
		made := adapt(textsOf(have[i:d.OldTo]), oldTexts[i:d.OldTo], newTexts[j:d.NewTo])
		for k, text := range made {
			write(text, j+k, i+k, d.OldTo)
		}
		i, j = d.OldTo, d.NewTo
	}
	return b.String()
}

// adapter returns a function that adapts lines of new to the file, in a block where old and new
// differ: have are the file's lines, old the matching lines. It returns as many lines as are in
// next.
func (h hits) adapter(s span) func(have, old, next []string) []string {
	switch {
	case h.reindent != nil:
		n, err := h.reindent.at(strings.ReplaceAll(h.text[s.start:s.end], "\r\n", "\n"))
		if err != nil {
			break // such a place was not taken
		}
		return func(_, _, next []string) []string {
			made := make([]string, len(next))
			for i, line := range next {
				var ok bool
				if made[i], ok = n.indent(line); !ok {
					made[i] = line
				}
			}
			return made
		}
	case h.fold != (fold{}):
		return func(have, old, next []string) []string {
			if len(have) == 0 || len(next) == 0 {
				return next
			}
			lines := strings.Split(h.fold.merge(strings.Join(have, "\n"), strings.Join(old, "\n"), strings.Join(next, "\n")), "\n")
			if len(lines) != len(next) {
				return next
			}
			return lines
		}
	}
	return func(_, _, next []string) []string { return next }
}

// merge applies the change from old to next to have, where have and old are equal under the fold.
// Unchanged words keep the spelling of have.
func (f fold) merge(have, old, next string) string {
	inHave, inOld := f.apply(have), f.apply(old)
	if inHave.text != inOld.text {
		return next
	}
	m := merging{have: have, inHave: inHave, inOld: inOld, old: tokens(old), next: tokens(next)}
	m.at = make([]int, len(m.old)+1)
	for i, w := range m.old {
		m.at[i+1] = m.at[i] + len(w)
	}
	i, j := 0, 0
	end := diff.Change{OldFrom: len(m.old), OldTo: len(m.old), NewFrom: len(m.next), NewTo: len(m.next)}
	for _, d := range append(diff.Compare(m.old, m.next), end) {
		m.take(i, d.OldFrom, j, d.NewFrom)
		m.write(d.NewFrom, d.NewTo)
		i, j = d.OldTo, d.NewTo
	}
	return m.out.String()
}

type merging struct {
	have          string
	inHave, inOld foldedText
	old, next     []string
	at            []int // where each word of old begins, and its end
	out           strings.Builder
}

func (m *merging) write(from, to int) {
	for _, word := range m.next[from:to] {
		m.out.WriteString(word)
	}
}

// take writes the common words of old and next in the spelling of have. A single quote, dash or
// blank may match by chance, so next's spelling is used.
func (m *merging) take(from, to, newFrom, newTo int) {
	begins, ends := from == 0 && newFrom == 0, to == len(m.old) && newTo == len(m.next)
	if begins || ends || distinctive(m.old[from:to]) {
		if piece, ok := m.spelled(from, to, begins, ends); ok {
			m.out.WriteString(piece)
			return
		}
	}
	m.write(newFrom, newTo)
}

func isBlank(word string) bool { return strings.Trim(word, " \t") == "" }

// distinctive reports whether a match of words is unlikely to be chance.
func distinctive(words []string) bool {
	signs := 0
	for _, w := range words {
		r, _ := utf8.DecodeRuneInString(w)
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return true
		}
		if !isBlank(w) {
			signs++
		}
	}
	return signs >= 2
}

// spelled returns the spelling of have for words of old.
func (m *merging) spelled(from, to int, begins, ends bool) (string, bool) {
	lo, hi := m.inOld.since(m.at[from]), m.inOld.since(m.at[to])
	if lo >= hi || m.inHave.splits(lo) || m.inHave.splits(hi) {
		return "", false
	}
	a, b := int(m.inHave.start[lo]), int(m.inHave.end[hi-1])
	if begins {
		a = 0
	}
	if ends {
		b = len(m.have)
	}
	return m.have[a:b], true
}

// since is the first folded byte whose piece begins at or after a place.
func (t foldedText) since(at int) int {
	lo, hi := 0, len(t.start)
	for lo < hi {
		if mid := (lo + hi) / 2; int(t.start[mid]) < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// tokens cuts a text into words, runs of blanks, and single other characters.
func tokens(text string) []string {
	kind := func(r rune) int {
		switch {
		case r == ' ' || r == '\t':
			return 1
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r):
			return 2
		}
		return 0
	}
	var list []string
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		for k := kind(r); k > 0 && n < len(text); {
			next, size := utf8.DecodeRuneInString(text[n:])
			if kind(next) != k {
				break
			}
			n += size
		}
		list, text = append(list, text[:n]), text[n:]
	}
	return list
}
