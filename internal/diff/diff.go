// Package diff compares texts by line: as unified diffs for git, as edits for an editor, and as
// lists of changes.
package diff

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Lines of context around a change.
const contextLines = 3

// Unified returns the unified diff from old to next, as accepted by git apply. If they are equal,
// it is empty. name is the name of the file, with slashes. If old is nil, the file is new; if next
// is nil, it is deleted. For binary content the diff only reports a difference.
func Unified(name string, old, next []byte) string {
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
	for changes := changesOf(oldLines, newLines); len(changes) > 0; {
		n := 1
		for n < len(changes) && changes[n].OldFrom-changes[n-1].OldTo <= 2*contextLines {
			n++
		}
		writeHunk(&out, oldLines, newLines, changes[:n])
		changes = changes[n:]
	}
	return out.String()
}

// diffName spells a name as git reads it: quoted if a character of it would end it,
// and followed by a tab if it has a space.
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

// writeHunk writes a hunk of neighboring changes.
func writeHunk(out *strings.Builder, old, next []line, changes []Change) {
	first, last := changes[0], changes[len(changes)-1]
	before := min(contextLines, first.OldFrom)
	after := min(contextLines, len(old)-last.OldTo)
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		hunkRange(first.OldFrom-before, last.OldTo+after),
		hunkRange(first.NewFrom-before, last.NewTo+after))
	at := first.OldFrom - before
	for _, c := range changes {
		writeLines(out, ' ', old[at:c.OldFrom])
		writeLines(out, '-', old[c.OldFrom:c.OldTo])
		writeLines(out, '+', next[c.NewFrom:c.NewTo])
		at = c.OldTo
	}
	writeLines(out, ' ', old[at:at+after])
}

// hunkRange formats the lines from up to to for a hunk header.
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

// Git is [Unified] with git's header lines for modes (such as 0o100644), for links, and for empty
// files. A mode of 0 means no file. Between a link and a file, the diff is a deletion and a
// creation.
func Git(name string, oldMode, nextMode int, old, next []byte) string {
	if oldMode != 0 && nextMode != 0 && oldMode>>12 != nextMode>>12 {
		return Git(name, oldMode, 0, old, nil) + Git(name, 0, nextMode, nil, next)
	}
	body := Unified(name, old, next)
	if body == "" && oldMode == nextMode {
		return ""
	}
	name = strings.TrimPrefix(name, "/")
	head := "diff --git " + headName("a/"+name) + " " + headName("b/"+name) + "\n"
	switch {
	case oldMode == 0:
		head += fmt.Sprintf("new file mode %06o\n", nextMode)
	case nextMode == 0:
		head += fmt.Sprintf("deleted file mode %06o\n", oldMode)
	case oldMode != nextMode:
		head += fmt.Sprintf("old mode %06o\nnew mode %06o\n", oldMode, nextMode)
	}
	return head + body
}

// Move is [Unified] for a renamed file.
func Move(from, to string, old, next []byte) string {
	from, to = strings.TrimPrefix(from, "/"), strings.TrimPrefix(to, "/")
	var out strings.Builder
	fmt.Fprintf(&out, "diff --git %s %s\nrename from %s\nrename to %s\n", headName("a/"+from), headName("b/"+to), headName(from), headName(to))
	_, hunks, _ := strings.Cut(Unified(to, old, next), "\n")
	if hunks != "" {
		fmt.Fprintf(&out, "--- %s\n%s", diffName("a/"+from), hunks)
	}
	return out.String()
}

func headName(name string) string { return strings.TrimSuffix(diffName(name), "\t") }
