package tools

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// indenter turns the indentation that an edit is written with into the file's.
type indenter struct {
	is   map[string]string // of lines that both have
	torn map[string]bool   // of which there are two that the file indents differently
	unit string            // what one level is in the replacement; empty: not known
	into string            // and in the file
}

var errIndent = errors.New("the indentation cannot be told")

// newIndenter learns from the lines of old as they stand in the file, and fails
// when it could not indent a line of new.
func newIndenter(inFile string, e replacement) (*indenter, error) {
	n := &indenter{is: map[string]string{}, torn: map[string]bool{}}
	have := strings.Split(inFile, "\n")
	old := strings.Split(e.old, "\n")
	for i, line := range old {
		if strings.TrimSpace(line) == "" || i >= len(have) || strings.TrimSpace(have[i]) == "" {
			continue
		}
		theirs, ours := indentOf(line), indentOf(have[i])
		if known, ok := n.is[theirs]; ok && known != ours {
			n.torn[theirs] = true
		}
		n.is[theirs] = ours
	}
	next := strings.Split(strings.ReplaceAll(e.new, "\r\n", "\n"), "\n")
	n.learnUnits(old, next, have)
	for _, d := range workspace.Compare(old, next) {
		for _, line := range next[d.NewFrom:d.NewTo] {
			if _, ok := n.indent(line); !ok {
				return nil, errIndent
			}
		}
	}
	return n, nil
}

func indentOf(line string) string { return line[:blanksAt(line)] }

// learnUnits finds out what a level of indentation is: from two lines of old that
// are indented differently, else from the lines on each side.
func (n *indenter) learnUnits(old, next, have []string) {
	for _, a := range n.known() {
		for _, b := range n.known() {
			more, ok := strings.CutPrefix(b, a)
			inMore, okIn := strings.CutPrefix(n.is[b], n.is[a])
			if ok && okIn && more != "" && inMore != "" && !n.torn[a] && !n.torn[b] && (n.unit == "" || len(more) < len(n.unit)) {
				n.unit, n.into = more, inMore
			}
		}
	}
	if n.unit == "" {
		n.unit, n.into = leastIndent(append(old[:len(old):len(old)], next...)), leastIndent(have)
	}
}

// known lists the indentations of old, in a fixed order: the lesser first.
func (n *indenter) known() []string { return slices.Sorted(maps.Keys(n.is)) }

// leastIndent is the smallest indentation of lines that is one; "\t" when a tab is
// in it.
func leastIndent(lines []string) string {
	least := ""
	for _, line := range lines {
		indent := indentOf(line)
		switch {
		case strings.TrimSpace(line) == "" || indent == "":
		case strings.Contains(indent, "\t"):
			return "\t"
		case least == "" || len(indent) < len(least):
			least = indent
		}
	}
	return least
}

// indent gives a line of the replacement the file's indentation.
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
			(!found || apartBy(theirs, known) < apartBy(theirs, nearest)) {
			nearest, found = known, true
		}
	}
	if !found {
		return "", false
	}
	ours := n.is[nearest]
	if more, deeper := strings.CutPrefix(theirs, nearest); deeper {
		ours += n.levels(more, ours)
	} else {
		less, ok := strings.CutSuffix(ours, n.levels(nearest[len(theirs):], ours))
		if !ok {
			return "", false
		}
		ours = less
	}
	return ours + line[len(theirs):], true
}

func apartBy(a, b string) int { return max(len(a)-len(b), len(b)-len(a)) }

// levels spells so much more indentation as the file does.
func (n *indenter) levels(more, beside string) string {
	count := 0
	if n.unit != "" && n.into != "" {
		count = strings.Count(more, n.unit)
	}
	if count > 0 && len(more) == count*len(n.unit) {
		return strings.Repeat(n.into, count)
	}
	tabs, spaces := strings.Contains(more, "\t"), strings.Contains(more, " ")
	switch {
	case strings.Contains(beside, "\t") && spaces && !tabs:
		return strings.Repeat("\t", (len(more)+3)/4)
	case strings.Contains(beside, " ") && tabs && !spaces:
		return strings.Repeat("    ", len(more))
	}
	return more
}
