package file

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	diffLineBytes = 2_000  // limit for a line of a diff; a longer line shows only its changed part
	diffBytes     = 40_000 // of a diff
	diffAround    = 400    // bytes shown before and after a change in a long line
)

// briefDiff returns a diff for the model. git apply accepts it, unless lines or diffs were
// cut for their length.
func briefDiff(diff string) string {
	if len(diff) <= diffLineBytes {
		return diff
	}
	var b strings.Builder
	lines := strings.SplitAfter(diff, "\n")
	for i, line := range lines {
		if len(line) > diffLineBytes {
			from, to := changedIn(lines, i)
			line = briefLine(line, from, to)
		}
		b.WriteString(line)
	}
	return tools.CutMiddle(b.String(), diffBytes)
}

// changedIn returns the range in which line i differs from its counterpart in the diff.
func changedIn(lines []string, i int) (from, to int) {
	line, other := lines[i], ""
	switch {
	case line[0] == '-' && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+"):
		other = lines[i+1]
	case line[0] == '+' && i > 0 && strings.HasPrefix(lines[i-1], "-"):
		other = lines[i-1]
	default:
		return 1, 1
	}
	for from = 1; from < min(len(line), len(other)) && line[from] == other[from]; from++ {
	}
	end := 0
	for end < min(len(line), len(other))-from && line[len(line)-1-end] == other[len(other)-1-end] {
		end++
	}
	return from, len(line) - end
}

// briefLine returns the part of a line around from and to.
func briefLine(line string, from, to int) string {
	_, first := utf8.DecodeRuneInString(line) // the sign of a diff line
	start, end := max(from-diffAround, first), min(min(to, from+diffLineBytes/2)+diffAround, len(line)-1)
	for start < end && !utf8.RuneStart(line[start]) {
		start++
	}
	for end > start && !utf8.RuneStart(line[end]) {
		end--
	}
	text := line[:first]
	if start > first {
		text += fmt.Sprintf("[… %d bytes] ", start-first)
	}
	text += line[start:end]
	if end < len(line)-1 {
		text += fmt.Sprintf(" [… %d bytes]", len(line)-1-end)
	}
	return text + "\n"
}
