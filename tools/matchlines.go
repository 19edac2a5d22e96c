package tools

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// textLine is a line of a text, without its end.
type textLine struct {
	text  string
	start int
}

func linesOf(text string) []textLine {
	var lines []textLine
	start := 0
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, textLine{line, start})
		start += len(line) + 1
	}
	return lines
}

// byLine looks for lines that are those of old under a fold, however they are
// indented.
func byLine(f fold) func(view, replacement) ([]span, replacement) {
	f.blanks = true
	return func(v view, e replacement) ([]span, replacement) {
		as, _, ended := withoutEmptyLines(e)
		wanted := strings.Split(as.old, "\n")
		for i, line := range wanted {
			wanted[i] = f.key(strings.TrimSpace(line))
		}
		have := linesOf(v.text)
		keys := make([]string, len(have))
		for i, line := range have {
			keys[i] = f.key(strings.TrimSpace(line.text))
		}
		var spans []span
		for i := 0; i+len(wanted) <= len(have); i++ {
			if !slices.Equal(keys[i:i+len(wanted)], wanted) {
				continue
			}
			at := lineSpan(have[i : i+len(wanted)])
			if _, err := newIndenter(v.text[at.start:at.end], as); err == nil {
				spans = append(spans, at)
			}
		}
		return v.wholeLines(spans, as, ended)
	}
}

func lineSpan(lines []textLine) span {
	last := lines[len(lines)-1]
	return span{lines[0].start, last.start + len(last.text)}
}

const (
	anchoredLines   = 3   // a block has at least
	likeEnough      = 0.5 // each line that differs
	likeEnoughInAll = 0.8 // all lines between the first and the last
)

// anchored looks for a block by its first and last line, when old remembers lines
// between wrongly. Only lines that the replacement keeps may differ, since they stay as the
// file has them; what it changes or takes away has to be what it says.
func anchored(v view, e replacement) ([]span, replacement) {
	as, _, ended := withoutEmptyLines(e)
	old := strings.Split(as.old, "\n")
	if len(old) < anchoredLines {
		return nil, e
	}
	keeps := keptLines(old, strings.Split(strings.ReplaceAll(as.new, "\r\n", "\n"), "\n"))
	f := fold{ends: true, blanks: true, looks: true, dash: "-"}
	wanted := make([]string, len(old))
	for i, line := range old {
		wanted[i] = f.key(strings.TrimSpace(line))
	}
	have := linesOf(v.text)
	key := func(i int) string { return f.key(strings.TrimSpace(have[i].text)) }
	var spans []span
	for i := 0; i+len(old) <= len(have); i++ {
		last := i + len(old) - 1
		if key(i) != wanted[0] || key(last) != wanted[len(wanted)-1] || !alike(have[i:last+1], wanted, keeps, f) {
			continue
		}
		at := lineSpan(have[i : last+1])
		if _, err := newIndenter(v.text[at.start:at.end], as); err == nil {
			spans = append(spans, at)
		}
	}
	return v.wholeLines(spans, as, ended)
}

// keptLines tells which lines of old are in next too, in order.
func keptLines(old, next []string) []bool {
	keeps := make([]bool, len(old))
	for i := range keeps {
		keeps[i] = true
	}
	for _, d := range workspace.Compare(old, next) {
		for i := d.OldFrom; i < d.OldTo; i++ {
			keeps[i] = false
		}
	}
	return keeps
}

func alike(have []textLine, wanted []string, keeps []bool, f fold) bool {
	sum, between := 0.0, len(wanted)-2
	for i := 1; i <= between; i++ {
		like := likeLine(f.key(strings.TrimSpace(have[i].text)), wanted[i])
		if like < 1 && (!keeps[i] || like < likeEnough) {
			return false
		}
		sum += like
	}
	return sum >= likeEnoughInAll*float64(between)
}

// likeLine is between 0 and 1, the same.
func likeLine(a, b string) float64 {
	if a == b {
		return 1
	}
	longest := max(len(a), len(b))
	if longest > 1000 || min(len(a), len(b)) < longest/2 {
		return 0
	}
	return 1 - float64(levenshtein.ComputeDistance(a, b))/float64(longest)
}
