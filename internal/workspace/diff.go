package workspace

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Lines of context around a change.
const diffContext = 3

// UnifiedDiff returns the change from old to next as git apply takes it; empty
// when they are equal. name is the file's, with slashes. A nil old means that the
// file is new, a nil next that it is gone. Binary content is only mentioned.
func UnifiedDiff(name string, old, next []byte) string {
	if bytes.Equal(old, next) {
		return ""
	}
	name = strings.TrimPrefix(name, "/")
	from, to := diffName("a/"+name), diffName("b/"+name)
	if old == nil {
		from = "/dev/null"
	}
	if next == nil {
		to = "/dev/null"
	}
	if bytes.IndexByte(old, 0) >= 0 || bytes.IndexByte(next, 0) >= 0 {
		return fmt.Sprintf("Binary files %s and %s differ\n", strings.TrimSuffix(from, "\t"), strings.TrimSuffix(to, "\t"))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
	oldLines, newLines := splitLines(old), splitLines(next)
	for changes := lineChanges(oldLines, newLines); len(changes) > 0; {
		n := 1
		for n < len(changes) && changes[n].oldFrom-changes[n-1].oldTo <= 2*diffContext {
			n++
		}
		writeHunk(&out, oldLines, newLines, changes[:n])
		changes = changes[n:]
	}
	return out.String()
}

// diffName spells a name as git reads it: quoted when it holds what would end it,
// and closed by a tab when it holds a space.
func diffName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }) {
		return quoteName(name)
	}
	if strings.ContainsRune(name, ' ') {
		return name + "\t"
	}
	return name
}

func quoteName(name string) string {
	quoted := []byte{'"'}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < ' ' || c == 0x7f:
			quoted = fmt.Appendf(quoted, "\\%03o", c)
		default:
			quoted = append(quoted, c)
		}
	}
	return string(append(quoted, '"'))
}

// writeHunk writes changes that stand close together.
func writeHunk(out *strings.Builder, old, next []line, changes []lineChange) {
	first, last := changes[0], changes[len(changes)-1]
	before := min(diffContext, first.oldFrom)
	after := min(diffContext, len(old)-last.oldTo)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		hunkRange(first.oldFrom-before, last.oldTo+after),
		hunkRange(first.newFrom-before, last.newTo+after))
	at := first.oldFrom - before
	for _, c := range changes {
		writeLines(out, ' ', old[at:c.oldFrom])
		writeLines(out, '-', old[c.oldFrom:c.oldTo])
		writeLines(out, '+', next[c.newFrom:c.newTo])
		at = c.oldTo
	}
	writeLines(out, ' ', old[at:at+after])
}

// hunkRange is the lines from up to to, as a hunk header has them.
func hunkRange(from, to int) string {
	switch to - from {
	case 0:
		return strconv.Itoa(from) + ",0"
	case 1:
		return strconv.Itoa(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, mark byte, lines []line) {
	for _, l := range lines {
		out.WriteByte(mark)
		out.Write(l.text)
		if !bytes.HasSuffix(l.text, []byte{'\n'}) {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// MoveDiff is [UnifiedDiff] for a file that is called something else now.
func MoveDiff(from, to string, old, next []byte) string {
	from, to = strings.TrimPrefix(from, "/"), strings.TrimPrefix(to, "/")
	var out strings.Builder
	fmt.Fprintf(&out, "diff --git %s %s\nrename from %s\nrename to %s\n", headName("a/"+from), headName("b/"+to), headName(from), headName(to))
	_, hunks, _ := strings.Cut(UnifiedDiff(to, old, next), "\n")
	if hunks != "" {
		fmt.Fprintf(&out, "--- %s\n%s", diffName("a/"+from), hunks)
	}
	return out.String()
}

func headName(name string) string { return strings.TrimSuffix(diffName(name), "\t") }
