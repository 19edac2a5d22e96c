package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
)

// applyHunks makes the changes of an update, each in the original text. If the last line has no
// line end, it stays without.
func applyHunks(ctx context.Context, text string, hunks []hunk) (replaced, error) {
	if text == "" || strings.HasSuffix(text, "\n") {
		return applyToLines(ctx, text, hunks)
	}
	end := cmp.Or(lineEndsOf(text)(span{len(text), len(text)}), "\n")
	done, err := applyToLines(ctx, text+end, hunks)
	done.text = strings.TrimSuffix(done.text, end)
	return done, err
}

func applyToLines(ctx context.Context, text string, hunks []hunk) (replaced, error) {
	var made []placed
	done := replaced{count: len(hunks)}
	var said notes
	for _, h := range hunks {
		at, note, err := h.place(ctx, text)
		if err != nil {
			return replaced{}, fmt.Errorf("the place at line %d of the patch: %w", h.line, err)
		}
		if note != "" {
			said.add(note)
		}
		made = append(made, at...)
	}
	slices.SortStableFunc(made, func(a, b placed) int { return a.start - b.start })
	var b strings.Builder
	last := 0
	for _, p := range made {
		if p.start < last {
			return replaced{}, fmt.Errorf("two places of the patch overlap at line %d of the file; join them into one", lineAt(text, p.start))
		}
		b.WriteString(text[last:p.start])
		b.WriteString(p.text)
		last = p.end
	}
	b.WriteString(text[last:])
	done.text, done.note = b.String(), said.String()
	return done, nil
}

// placed is a piece of a text and its replacement.
type placed struct {
	span
	text string
}

// place finds a hunk in the text. It omits equal lines from the replacement, so neighbors may share
// their context.
func (h hunk) place(ctx context.Context, text string) ([]placed, string, error) {
	within, lost := h.within(text)
	if lost != nil && !h.once(text) { // else the lines are sufficient
		return nil, "", lost
	}
	if len(h.old) == 0 {
		return []placed{h.insert(text, within)}, "", nil
	}
	e := replacement{old: wholeLines(h.old), new: wholeLines(h.new), lines: true, within: within.holds, stated: h.stated}
	if strings.TrimSpace(e.old) == "" {
		return nil, "", errors.New("its old lines are only white space: give it a line with text that stands beside")
	}
	found, err := find(ctx, text, e)
	var several *ambiguous
	if errors.As(err, &several) {
		return nil, "", errors.New(strings.NewReplacer("old_string occurs", "its lines occur", "Add lines around it until it occurs once, or set replace_all", "Add lines around it, or name a line above it after @@").Replace(several.text))
	}
	if err != nil {
		return nil, "", err
	}
	if len(found.spans) == 0 {
		if at, ok := already(text, e); ok {
			return nil, fmt.Sprintf("already applied at line %d", at), nil
		}
		return nil, "", errors.New(strings.ReplaceAll(noMatch(text, e.old).Error(), "old_string", "its old text"))
	}
	s, said := found.spans[0], notes{}
	if note := found.note(); note != "" {
		said.add(note)
	}
	if lost != nil {
		said.add(fmt.Sprintf("%v; the change was made where its lines are, at line %d", lost, lineAt(text, s.start)))
	}
	return []placed{trim(text, placed{s, found.at(s)})}, said.String(), nil
}

func wholeLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// once reports whether the old lines of the hunk occur in the text exactly once.
func (h hunk) once(text string) bool {
	e := replacement{old: wholeLines(h.old), lines: true}
	v := viewOf(text, e.old)
	return len(v.allowed(v.exactly(e.old), e)) == 1
}

// trim removes unchanged lines from both ends.
func trim(text string, p placed) placed {
	have, next := strings.SplitAfter(text[p.start:p.end], "\n"), strings.SplitAfter(p.text, "\n")
	for len(have) > 0 && len(next) > 0 && have[0] == next[0] {
		p.start += len(have[0])
		p.text = p.text[len(have[0]):]
		have, next = have[1:], next[1:]
	}
	for len(have) > 0 && len(next) > 0 && have[len(have)-1] == next[len(next)-1] {
		last := have[len(have)-1]
		p.end -= len(last)
		p.text = p.text[:len(p.text)-len(last)]
		have, next = have[:len(have)-1], next[:len(next)-1]
	}
	return p
}

// region is where a hunk may be.
type region struct {
	text  string
	from  int  // the start of the line named by @@, which may be repeated below it
	after int  // its end
	block int  // the end of the block named by @@; with several matches, only matches before it count
	named bool // by @@
	atEnd bool
}

// holds reports whether a place is in the region.
func (r region) holds(at span) bool {
	if r.atEnd && strings.TrimSpace(r.text[at.end:]) != "" {
		return false
	}
	return at.start >= r.from && (!r.named || at.start <= r.block)
}

// within finds the lines after @@, each after the previous line.
func (h hunk) within(text string) (region, error) {
	r := region{text: text, block: len(text), atEnd: h.atEnd}
	for _, under := range h.under {
		line, err := r.find(under)
		if err != nil {
			return region{text: text, block: len(text), atEnd: h.atEnd}, err
		}
		r.from, r.after, r.block, r.named = line.start, line.end, blockEnd(text, line), true
	}
	return r, nil
}

// find finds the line named by @@: an equal line, otherwise a line that contains it.
func (r region) find(under string) (span, error) {
	for _, same := range []func(line string) bool{
		func(line string) bool { return line == under },
		func(line string) bool { return strings.HasPrefix(line, under) },
		func(line string) bool { return strings.Contains(line, under) },
	} {
		var found []span
		for _, line := range linesOf(r.text[r.after:r.block]) {
			if same(strings.TrimSpace(line.text)) {
				start := r.after + line.start
				found = append(found, span{start, start + len(line.text)})
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			err := severalPlaces(r.text, found, "")
			return span{}, errors.New(strings.NewReplacer("old_string occurs", fmt.Sprintf("the line %q after @@ occurs", under), "Add lines around it until it occurs once, or set replace_all", "Name one that is there once").Replace(err.Error()))
		}
	}
	return span{}, fmt.Errorf("the line %q after @@ is not in the file: copy a line that stands above the place, or leave it out", tools.OneLine(under, 80))
}

// blockEnd returns the end of the block that starts at line: before the next line with at most its
// indentation, except a line that only closes it.
func blockEnd(text string, line span) int {
	indent := len(indentOf(text[line.start:line.end]))
	for _, next := range linesOf(text[line.end:])[1:] {
		words := strings.TrimSpace(next.text)
		if words == "" || len(indentOf(next.text)) > indent || !opens(words) {
			continue
		}
		return line.end + next.start
	}
	return len(text)
}

// opens reports whether a line is more than the end of a block.
func opens(line string) bool { return strings.Trim(line, ")]};,:") != "" }

// insert places a hunk that only adds lines: after the line named by @@, otherwise at the end.
func (h hunk) insert(text string, r region) placed {
	end := cmp.Or(lineEndsOf(text)(span{len(text), len(text)}), "\n")
	at := len(text)
	if r.named && !h.atEnd {
		at = r.after + strings.IndexByte(text[r.after:], '\n') + 1
	}
	return placed{span{at, at}, strings.Join(h.new, end) + end}
}
