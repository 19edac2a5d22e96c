package file

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	nearLinesMax    = 12     // lines of the file shown in an error
	nearSearchLines = 20_000 // lines to search for them
	leastLikeness   = 0.55   // minimum for a line worth showing
)

// noMatch explains why old, an old_string, may not be in text, with the most similar lines.
func noMatch(text, old string) error {
	if strings.Contains(text, "\x00") {
		return errors.New("old_string is not in the file, which is binary; nothing was changed. Change it with a command")
	}
	if withoutNumbers(old) != old {
		return errors.New("old_string is not in the file: it holds the line numbers that read_file shows. Nothing was changed. Leave out each number and its |")
	}
	if strings.Contains(old, "\uFFFD") && !utf8.ValidString(text) {
		return errors.New("old_string is not in the file: each \uFFFD in it stands for a byte that is not UTF-8. Nothing was changed. Leave that part of the line out of it, or change it with a command")
	}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	wanted := strings.Split(strings.Trim(strings.ReplaceAll(old, "\r\n", "\n"), "\n"), "\n")
	at, to, exact := closest(lines, wanted)
	if at < 0 {
		return errors.New("old_string is not in the file, nor anything like it; nothing was changed. Read the file, and copy the text from there")
	}
	why := "the nearest lines are"
	if exact {
		why = "it differs only in white space from"
	}
	end := min(to, at+nearLinesMax, len(lines))
	return fmt.Errorf("old_string is not in the file; nothing was changed. From line %d, %s:\n%s\nCopy it exactly, or read the file again", at+1, why, tools.CutMiddle(strings.Join(lines[at:end], "\n"), 2000))
}

// closest finds the lines that wanted may stand for, from at up to to. exact reports whether only
// white space differs. If no line is similar, at is -1.
func closest(lines, wanted []string) (at, to int, exact bool) {
	lines = lines[:min(len(lines), nearSearchLines)]
	if at, to, ok := sameButSpace(lines, wanted); ok {
		return at, to, true
	}
	anchor := longest(wanted)
	key := newLikeness(wanted[anchor])
	best, bestScore := -1, leastLikeness
	for i, line := range lines {
		if score := key.with(line); score > bestScore || best < 0 && score == bestScore {
			best, bestScore = max(i-anchor, 0), score
		}
	}
	return best, best + len(wanted), false
}

// sameButSpace finds the lines that contain wanted, ignoring white space.
func sameButSpace(lines, wanted []string) (at, to int, ok bool) {
	var all strings.Builder
	ends := make([]int, len(lines)) // of each line in all
	for i, line := range lines {
		all.WriteString(squeeze(line))
		ends[i] = all.Len()
	}
	text := squeeze(strings.Join(wanted, "\n"))
	i := strings.Index(all.String(), text)
	if i < 0 || text == "" {
		return 0, 0, false
	}
	at, _ = slices.BinarySearch(ends, i+1)
	last, _ := slices.BinarySearch(ends, i+len(text))
	return at, last + 1, true
}

func squeeze(line string) string { return strings.Join(strings.Fields(line), "") }

func longest(lines []string) int {
	at := 0
	for i, line := range lines {
		if len(strings.TrimSpace(line)) > len(strings.TrimSpace(lines[at])) {
			at = i
		}
	}
	return at
}

// likeness compares lines by the pairs of letters they share, white space aside.
type likeness struct {
	pairs map[[2]byte]int
	total int
}

func newLikeness(line string) likeness {
	line = squeeze(line[:min(len(line), 400)])
	l := likeness{pairs: map[[2]byte]int{}}
	for i := range len(line) - 1 {
		l.pairs[[2]byte{line[i], line[i+1]}]++
		l.total++
	}
	return l
}

// with returns a similarity between 0 (nothing in common) and 1. A line that contains all of it
// scores high, however long it is.
func (l likeness) with(line string) float64 {
	other := newLikeness(line)
	if l.total == 0 || other.total == 0 {
		return 0
	}
	shared := 0
	for pair, n := range other.pairs {
		shared += min(n, l.pairs[pair])
	}
	return 0.7*float64(shared)/float64(l.total) + 0.3*2*float64(shared)/float64(l.total+other.total)
}

var numberedLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*\d+\|`) })

// withoutNumbers removes read_file's line numbers if every line has a number.
func withoutNumbers(text string) string {
	lines := strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	if len(numberedLine().FindAllStringIndex(text, -1)) < lines {
		return text
	}
	return numberedLine().ReplaceAllString(text, "")
}
