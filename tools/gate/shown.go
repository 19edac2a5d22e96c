package gate

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	shownFile    = 512 << 10 // limit for both texts of a file shown whole
	shownEdit    = 4 << 20   // bytes of all texts of a request
	shownPart    = 128 << 10 // bytes of a text of which only a part is shown
	shownAround  = 3         // lines around the changed lines in such a part
	comparedMost = 20_000    // limit of changed lines for counting
)

// Shown returns the files of an edit as an approval request shows them: without the secrets
// of the session, with invisible characters written as their code, and cut if they are long.
func Shown(bounds tools.Bounds, written []*workspace.Written) []tools.FileEdit {
	return ShownWithout(bounds.Secrets.Hide, written)
}

// ShownWithout is [Shown] with a function that redacts secrets in a text.
func ShownWithout(hide func(string) string, written []*workspace.Written) []tools.FileEdit {
	var edits []tools.FileEdit
	left := shownEdit
	for _, w := range written {
		e := shownOf(hide, w, min(shownFile, left))
		if e.Old != nil {
			left -= len(*e.Old)
		}
		left = max(left-len(e.New), 0)
		edits = append(edits, e)
	}
	return edits
}

// shownOf returns a file with at most limit bytes of text.
func shownOf(hide func(string) string, w *workspace.Written, limit int) tools.FileEdit {
	e := tools.FileEdit{Path: w.Path, Name: escape.Line(w.Name), From: escape.Line(w.From), Deleted: w.New == nil}
	var notes []string
	old, note := textOf(w.Old, "was")
	notes = append(notes, note)
	next, note := textOf(w.New, "will be")
	if notes = append(notes, note); note != "" {
		e.Cut = true
	}
	if ends, ok := sameEnds(old, next, w.Old != nil && w.New != nil); ok {
		old, next = ends(old), ends(next)
	} else {
		notes = append(notes, "the line ends change")
	}
	old, next = escape.Text(hide(old)), escape.Text(hide(next))
	first, removed, added := changedLines(old, next)
	e.Added, e.Removed = len(added), len(removed)
	if e.Added+e.Removed > 0 {
		e.Changed = first + 1
	}
	if len(old)+len(next) > limit {
		e.Line = max(first-shownAround, 0) + 1
		old, next = part(old, e.Line, first+len(removed)), part(next, e.Line, first+len(added))
		notes = append(notes, fmt.Sprintf("the file is long: only the changed part is shown, from line %d on", e.Line))
		half := min(limit/2, shownPart)
		if len(old) > half || len(next) > half {
			old, next, e.Cut = cut(old, half), cut(next, half), true
			notes = append(notes, "the change is long: only its beginning is shown")
		}
	}
	if !w.Created {
		e.Old = &old
	}
	e.New = next
	if w.Created && w.Note != "" {
		notes = append(notes, w.Note)
	}
	if w.From != "" {
		notes = append(notes, "moves from "+e.From)
	}
	e.Note = joined(notes)
	return e
}

func joined(notes []string) string {
	var said []string
	for _, n := range notes {
		if n != "" {
			said = append(said, n)
		}
	}
	return strings.Join(said, "; ")
}

// textOf returns a text as UTF-8. For binary data, it returns "" and reports it.
func textOf(raw []byte, tense string) (text, note string) {
	text = string(textenc.CharsetOf(raw).Decode(raw))
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return "", fmt.Sprintf("the file %s %d bytes that are no text, which are not shown", tense, len(raw))
	}
	return text, ""
}

// sameEnds returns a function that writes the line ends of both texts as \n. If the texts have
// different line ends, it returns false.
func sameEnds(old, next string, both bool) (func(string) string, bool) {
	crlf := func(s string) bool {
		return strings.Contains(s, "\r\n") && strings.Count(s, "\r") == strings.Count(s, "\n")
	}
	plain := func(s string) bool { return !strings.Contains(s, "\r") }
	windows, unix := crlf(old) || crlf(next), strings.Contains(old, "\n") && plain(old) || strings.Contains(next, "\n") && plain(next)
	switch {
	case windows && unix && both:
		return nil, false
	case windows && (crlf(old) || plain(old)) && (crlf(next) || plain(next)):
		return func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }, true
	}
	return func(s string) string { return s }, true
}

// changedLines returns the index of the first changed line, and the removed and added lines. For a
// long change, all lines between its first and its last count.
func changedLines(old, next string) (first int, removed, added []string) {
	was, is := linesOf(old), linesOf(next)
	for first < min(len(was), len(is)) && was[first] == is[first] {
		first++
	}
	end := 0
	for end < min(len(was), len(is))-first && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	was, is = was[first:len(was)-end], is[first:len(is)-end]
	if len(was)+len(is) > comparedMost {
		return first, was, is
	}
	for _, c := range diff.Compare(was, is) {
		removed, added = append(removed, was[c.OldFrom:c.OldTo]...), append(added, is[c.NewFrom:c.NewTo]...)
	}
	return first, removed, added
}

func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// part returns the lines of a text from line (which counts from 1) to a few lines after last.
func part(text string, line, last int) string {
	lines := linesOf(text)
	return strings.Join(lines[min(line-1, len(lines)):min(last+shownAround, len(lines))], "")
}

// cut returns the beginning of a text.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	if end := strings.LastIndexByte(text[:limit], '\n'); end > 0 {
		return text[:end+1]
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// SameChange reports whether two edits of a file remove and add the same lines.
func SameChange(a, b *workspace.Written) bool {
	if bytes.Equal(a.Old, b.Old) && (a.Old == nil) == (b.Old == nil) {
		return bytes.Equal(a.New, b.New) && (a.New == nil) == (b.New == nil)
	}
	if a.Created != b.Created || (a.New == nil) != (b.New == nil) || a.From != b.From {
		return false
	}
	_, removed, added := changedLines(string(a.Old), string(a.New))
	_, others, more := changedLines(string(b.Old), string(b.New))
	return strings.Join(removed, "\x00") == strings.Join(others, "\x00") && strings.Join(added, "\x00") == strings.Join(more, "\x00")
}

// LinesShown is how many changed lines of an edit a text shows, where an editor shows no diff.
const LinesShown = 20

// longestLine is how many characters of a changed line such a text has.
const longestLine = 160

// EditText returns an edit as text for an editor without diffs: the files with the counts of their
// lines, and at most [LinesShown] changed lines.
func EditText(edits []tools.FileEdit) string {
	var b strings.Builder
	left := LinesShown
	for _, e := range edits {
		fmt.Fprintf(&b, "%s · %s", e.Name, countsOf(e))
		if e.Note != "" {
			fmt.Fprintf(&b, " (%s)", e.Note)
		}
		b.WriteByte('\n')
		left -= writeChanged(&b, e, left)
	}
	return strings.TrimRight(b.String(), "\n")
}

func countsOf(e tools.FileEdit) string {
	counts := fmt.Sprintf("+%d −%d", e.Added, e.Removed)
	switch {
	case e.Deleted:
		return "deleted, " + counts
	case e.Old == nil:
		return "new, " + counts
	}
	return counts
}

// writeChanged writes at most limit changed lines of a file, and how many more there are. It
// returns the number of written lines.
func writeChanged(b *strings.Builder, e tools.FileEdit, limit int) (written int) {
	old := ""
	if e.Old != nil {
		old = *e.Old
	}
	was, is := linesOf(old), linesOf(e.New)
	line := func(sign string, text string) {
		if written++; written <= limit {
			b.WriteString(sign + shortLine(strings.TrimRight(text, "\r\n")) + "\n")
		}
	}
	changes := []diff.Change{{OldTo: len(was), NewTo: len(is)}}
	if len(was)+len(is) <= comparedMost || e.Line == 0 {
		changes = diff.Compare(was, is)
	}
	for _, c := range changes {
		if written < limit && (c.OldFrom > 0 || e.Line > 1) {
			fmt.Fprintf(b, "@ line %d\n", max(e.Line, 1)+c.NewFrom)
		}
		for _, text := range was[c.OldFrom:c.OldTo] {
			line("- ", text)
		}
		for _, text := range is[c.NewFrom:c.NewTo] {
			line("+ ", text)
		}
	}
	if all := max(e.Added+e.Removed, written); all > min(written, limit) {
		fmt.Fprintf(b, "… %d more changed lines\n", all-min(written, limit))
	}
	return min(written, limit)
}

func shortLine(text string) string {
	if r := []rune(text); len(r) > longestLine {
		return string(r[:longestLine]) + "…"
	}
	return text
}
