package file

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// reindent is the indentation of an edit and of a file, in any place.
type reindent struct {
	replacement
	changed    []string // lines of new that are not in old
	edit, file string   // one level of indentation in the edit and in the file; empty: unknown
}

// newReindent learns how the edit e and the file text are indented.
func newReindent(e replacement, text string) *reindent {
	old := strings.Split(e.old, "\n")
	next := strings.Split(strings.ReplaceAll(e.new, "\r\n", "\n"), "\n")
	r := &reindent{replacement: e, edit: levelOf(slices.Concat(old, next)), file: levelOf(strings.Split(text, "\n"))}
	for _, d := range e.differences(old, next) {
		r.changed = append(r.changed, next[d.NewFrom:d.NewTo]...)
	}
	return r
}

// levelOf returns one level of indentation of lines: a tab, or the most frequent difference between
// consecutive lines in spaces. If no line is indented, it returns "".
func levelOf(lines []string) string {
	tabs, spaces, least, before := 0, 0, 0, -1
	steps := map[int]int{}
	for _, line := range lines {
		indent := indentOf(line)
		if strings.TrimSpace(line) == "" {
			continue
		}
		if strings.Contains(indent, "\t") {
			tabs++
			before = -1
			continue
		}
		if indent != "" {
			spaces++
			least = min(cmp.Or(least, len(indent)), len(indent))
		}
		if step := max(len(indent)-before, before-len(indent)); before >= 0 && step > 1 { // a single space aligns
			steps[step]++
		}
		before = len(indent)
	}
	if tabs > spaces {
		return "\t"
	}
	width := min(least, 4)
	for _, step := range slices.Sorted(maps.Keys(steps)) {
		if steps[step] > steps[width] {
			width = step
		}
	}
	return strings.Repeat(" ", width)
}

// indenter converts the edit's indentation to the file's in one place, by the difference between
// the lines of old and the file's lines.
type indenter struct {
	*reindent
	is   map[string]string // indentation in old → in the file
	torn map[string]bool   // indentations with two different counterparts in the file
	unit string            // one level in old, if two levels of old show it; else empty
	into string            // and in the file
}

var errIndent = errors.New("the indentation cannot be told")

// at learns from the lines of old in the file. If a line of new cannot be indented, it returns
// errIndent.
func (r *reindent) at(inFile string) (*indenter, error) {
	n := &indenter{reindent: r, is: map[string]string{}, torn: map[string]bool{}}
	have := strings.Split(inFile, "\n")
	for i, line := range strings.Split(r.old, "\n") {
		if strings.TrimSpace(line) == "" || i >= len(have) || strings.TrimSpace(have[i]) == "" {
			continue
		}
		theirs, ours := indentOf(line), indentOf(have[i])
		if known, ok := n.is[theirs]; ok && known != ours {
			n.torn[theirs] = true
		}
		n.is[theirs] = ours
	}
	n.learnUnit()
	for _, line := range r.changed {
		if _, ok := n.indent(line); !ok {
			return nil, errIndent
		}
	}
	return n, nil
}

func indentOf(line string) string { return line[:blanksAt(line)] }

// learnUnit derives the size of a level from two lines of old with different indentation.
func (n *indenter) learnUnit() {
	for _, a := range n.known() {
		for _, b := range n.known() {
			more, ok := strings.CutPrefix(b, a)
			inMore, okIn := strings.CutPrefix(n.is[b], n.is[a])
			if ok && okIn && more != "" && inMore != "" && !n.torn[a] && !n.torn[b] && (n.unit == "" || len(more) < len(n.unit)) {
				n.unit, n.into = more, inMore
			}
		}
	}
}

// known lists the indentations of old, in a fixed order: the lesser first.
func (n *indenter) known() []string { return slices.Sorted(maps.Keys(n.is)) }

// indent converts a line of the replacement to the file's indentation.
func (n *indenter) indent(line string) (string, bool) {
	if strings.TrimSpace(line) == "" {
		return strings.TrimLeft(line, " \t"), true
	}
	theirs := indentOf(line)
	if n.torn[theirs] {
		return "", false
	}
	nearest, found := "", false
	for _, known := range n.known() {
		if (strings.HasPrefix(theirs, known) || strings.HasPrefix(known, theirs)) && !n.torn[known] &&
			(!found || lengthDifference(theirs, known) < lengthDifference(theirs, nearest)) {
			nearest, found = known, true
		}
	}
	if !found {
		return "", false
	}
	ours := n.is[nearest]
	if more, deeper := strings.CutPrefix(theirs, nearest); deeper {
		ours += n.spelled(more, ours)
	} else {
		less, ok := strings.CutSuffix(ours, n.spelled(nearest[len(theirs):], ours))
		if !ok {
			return "", false
		}
		ours = less
	}
	return ours + line[len(theirs):], true
}

func lengthDifference(a, b string) int { return max(len(a)-len(b), len(b)-len(a)) }

// spelled writes so much indentation of the edit as the file does, beside another
// indentation of the file. Spaces stay as many as they are where the file has spaces.
func (n *indenter) spelled(more, beside string) string {
	if count := len(more) / max(len(n.unit), 1); n.unit != "" && more == strings.Repeat(n.unit, count) {
		return strings.Repeat(n.into, count)
	}
	spaces, tabs := strings.Count(more, " "), strings.Count(more, "\t")
	inTabs := strings.Contains(beside, "\t") || beside == "" && n.file == "\t"
	switch width := widthOf(n.edit); {
	case inTabs && tabs == 0:
		return strings.Repeat("\t", spaces/width) + strings.Repeat(" ", spaces%width)
	case !inTabs && spaces == 0 && beside+n.file != "":
		return strings.Repeat(" ", tabs*widthOf(n.file))
	}
	return more
}

// widthOf returns the number of spaces in a level.
func widthOf(level string) int {
	if level == "" || level == "\t" {
		return 4
	}
	return len(level)
}
