package checkpoint

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// mergeTexts applies to ours the changes from base to theirs. If a change of ours overlaps any of
// them, or a text is binary, ok is false. Changes that only touch do not overlap.
func mergeTexts(base, ours, theirs []byte) (merged []byte, ok bool) {
	charset := textenc.CharsetOf(ours)
	wide := bytes.IndexByte(ours, 0) >= 0
	texts := [3][]byte{base, ours, theirs}
	for i, t := range texts {
		if wide && len(t) > 0 {
			t = textenc.CharsetOf(t).Decode(t)
		}
		if bytes.IndexByte(t, 0) >= 0 {
			return nil, false // no text
		}
		texts[i] = t
	}
	merged, ok = mergePlain(string(texts[0]), string(texts[1]), string(texts[2]))
	if ok && wide {
		var err error
		merged, err = charset.Encode(merged)
		ok = err == nil
	}
	return merged, ok
}

func mergePlain(base, ours, theirs string) (merged []byte, ok bool) {
	if end := endOfLines(ours); end != "" {
		base, theirs = withEnds(base, end), withEnds(theirs, end)
	}
	baseLines, baseEnds := lines(base)
	ourLines, ourEnds := lines(ours)
	theirLines, theirEnds := lines(theirs)
	out, ok := mergeLines(baseLines, ourLines, theirLines)
	if !ok {
		return nil, false
	}
	ends := ourEnds
	if ourEnds == baseEnds && len(theirLines) > 0 {
		ends = theirEnds
	}
	if len(out) == 0 {
		return []byte{}, true
	}
	text := strings.Join(out, "\n")
	if ends {
		text += "\n"
	}
	return []byte(text), true
}

// lines returns the lines of a text without their ends, and whether the last line has an end.
func lines(text string) (all []string, ends bool) {
	if text == "" {
		return nil, true
	}
	body, ends := strings.CutSuffix(text, "\n")
	return strings.Split(body, "\n"), ends
}

// endOfLines returns the common line end of a text, or "" if they differ or there is none.
func endOfLines(text string) string {
	switch n, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n"); {
	case n == 0 || crlf > 0 && crlf < n:
		return ""
	case crlf == n:
		return "\r\n"
	}
	return "\n"
}

// withEnds gives all lines of a text the same end, if they have the same end now.
func withEnds(text, end string) string {
	if now := endOfLines(text); now != "" && now != end {
		return strings.ReplaceAll(text, now, end)
	}
	return text
}

// mergeLines is a three-way merge of lines.
func mergeLines(base, ours, theirs []string) (out []string, ok bool) {
	mine, yours := diff.Compare(base, ours), diff.Compare(base, theirs)
	at := 0
	take := func(c diff.Change, from []string) {
		out = append(out, base[at:c.OldFrom]...)
		out = append(out, from[c.NewFrom:c.NewTo]...)
		at = c.OldTo
	}
	for len(mine) > 0 && len(yours) > 0 {
		m, y := mine[0], yours[0]
		switch {
		case m.OldFrom == y.OldFrom && m.OldTo == y.OldTo && slices.Equal(ours[m.NewFrom:m.NewTo], theirs[y.NewFrom:y.NewTo]):
			take(m, ours)
			mine, yours = mine[1:], yours[1:]
		case overlap(m, y) && m.NewFrom == m.NewTo && y.NewFrom == y.NewTo: // both remove lines
			y.OldFrom, y.OldTo = min(m.OldFrom, y.OldFrom), max(m.OldTo, y.OldTo)
			mine, yours = mine[1:], append([]diff.Change{y}, yours[1:]...)
			for len(yours) > 1 && yours[1].OldFrom < y.OldTo { // only removals can lie inside a removal
				if yours[1].NewFrom != yours[1].NewTo {
					return nil, false
				}
				y.OldTo = max(y.OldTo, yours[1].OldTo)
				yours = append([]diff.Change{y}, yours[2:]...)
			}
		case overlap(m, y):
			return nil, false
		case m.OldFrom < y.OldFrom || m.OldFrom == y.OldFrom && m.OldTo < y.OldTo:
			take(m, ours)
			mine = mine[1:]
		default:
			take(y, theirs)
			yours = yours[1:]
		}
	}
	for _, m := range mine {
		take(m, ours)
	}
	for _, y := range yours {
		take(y, theirs)
	}
	return append(out, base[at:]...), true
}

// overlap reports whether two changes of a text exclude each other: they replace the same lines,
// insert at the same place, or insert between replaced lines of the other.
func overlap(a, b diff.Change) bool {
	if a.OldFrom == a.OldTo && b.OldFrom == b.OldTo {
		return a.OldFrom == b.OldFrom
	}
	return max(a.OldFrom, b.OldFrom) < min(a.OldTo, b.OldTo) ||
		a.OldFrom == a.OldTo && b.OldFrom < a.OldFrom && a.OldFrom < b.OldTo ||
		b.OldFrom == b.OldTo && a.OldFrom < b.OldFrom && b.OldFrom < a.OldTo
}
