package file

import (
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// changed is a changed file, for the model. Lines are the ranges of changed lines in the new
// text, such as "3-5, 9". A deleted file has none.
type changed struct {
	Path    string `json:"path"`
	Lines   string `json:"lines,omitempty"`
	From    string `json:"from,omitempty"` // a moved file
	Deleted bool   `json:"deleted,omitempty"`
}

// mostRanges of a file are listed.
const mostRanges = 8

func changesOf(written ...*workspace.Written) []changed {
	list := []changed{}
	for _, w := range written {
		c := changed{Path: w.Name, From: w.From, Deleted: w.New == nil}
		if !c.Deleted {
			c.Lines = rangesIn(shownDiff(w))
		}
		list = append(list, c)
	}
	return list
}

// rangesIn returns the new lines of a unified diff. For a pure deletion, it returns the line after
// the deleted lines.
func rangesIn(diff string) string {
	var ranges []string
	line, first, last, deleted := 0, 0, 0, false
	flush := func() {
		switch {
		case first > 0 && last > first:
			ranges = append(ranges, fmt.Sprintf("%d-%d", first, last))
		case first > 0:
			ranges = append(ranges, fmt.Sprint(first))
		case deleted:
			ranges = append(ranges, fmt.Sprint(max(line, 1)))
		}
		first, last, deleted = 0, 0, false
	}
	inHunk := false
	for text := range strings.Lines(diff) {
		if strings.HasPrefix(text, "@@ ") {
			flush()
			_, new, _ := strings.Cut(text, " +")
			fmt.Sscanf(new, "%d", &line) // our own diff
			inHunk = true
			continue
		}
		if !inHunk {
			continue
		}
		switch text[0] {
		case '+':
			if first == 0 {
				first = line
			}
			last = line
			line++
		case '-':
			deleted = true
		case ' ':
			flush()
			line++
		}
	}
	flush()
	if more := len(ranges) - mostRanges; more > 0 {
		ranges = append(ranges[:mostRanges:mostRanges], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(ranges, ", ")
}
