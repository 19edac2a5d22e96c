package file

import (
	"context"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/spelling"
)

// textLine is a line of a text, without its end.
type textLine struct {
	text  string
	start int
}

func linesOf(text string) []textLine {
	lines := make([]textLine, 0, strings.Count(text, "\n")+1)
	start := 0
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, textLine{line, start})
		start += len(line) + 1
	}
	return lines
}

func lineSpan(lines []textLine) span {
	last := lines[len(lines)-1]
	return span{lines[0].start, last.start + len(last.text)}
}

// numbering numbers lines: two lines equal under the fold have the same number, whatever their
// indentation.
type numbering struct {
	fold  fold
	known map[string]int32
	texts []string // under the fold, by number
}

func newNumbering(f fold) *numbering {
	f.ends, f.blanks = true, true
	return &numbering{fold: f, known: map[string]int32{}}
}

func (n *numbering) of(line string) int32 {
	key := n.fold.key(strings.TrimSpace(line))
	number, ok := n.known[key]
	if !ok {
		number = int32(len(n.texts))
		n.known[key] = number
		n.texts = append(n.texts, key)
	}
	return number
}

func (n *numbering) all(lines []string) []int32 {
	numbers := make([]int32, len(lines))
	for i, line := range lines {
		numbers[i] = n.of(line)
	}
	return numbers
}

// byLine finds lines equal to the lines of old under a fold, with any indentation.
func byLine(f fold) finder {
	return func(ctx context.Context, s *textSearch, e replacement) ([]span, replacement, error) {
		as, _, ended := withoutEmptyLines(e)
		numbers := newNumbering(f)
		wanted := numbers.all(strings.Split(as.old, "\n"))
		have := linesOf(s.text)
		ids := make([]int32, len(have))
		for i, line := range have {
			ids[i] = numbers.of(line.text)
		}
		places := occurrences(ids, wanted)
		spans, err := s.indentable(ctx, have, places, as)
		spans, as = s.wholeLines(spans, as, ended)
		return spans, as, err
	}
}

// indentable returns the places, given by their first lines, where the lines of new can
// be indented as the file is.
func (s *textSearch) indentable(ctx context.Context, have []textLine, places []int, e replacement) ([]span, error) {
	if len(places) == 0 {
		return nil, nil
	}
	var spans []span
	how := newReindent(e, s.text)
	count := strings.Count(e.old, "\n") + 1
	for _, i := range places {
		if err := s.spend(ctx, costOfIndent*(count+len(how.changed))); err != nil {
			return nil, err
		}
		at := lineSpan(have[i : i+count])
		if _, err := how.at(s.text[at.start:at.end]); err == nil {
			spans = append(spans, at)
		}
	}
	return spans, nil
}

const (
	anchoredLines   = 3   // a block has at least
	likeEnough      = 0.5 // for each different line
	likeEnoughInAll = 0.8 // all lines between the first and the last
)

// byAnchors finds a block by its first and last line, if lines between differ from old. Only lines
// kept by the replacement may differ, because the file's version of them stays. Changed and removed
// lines must match.
func byAnchors(ctx context.Context, s *textSearch, e replacement) ([]span, replacement, error) {
	as, _, ended := withoutEmptyLines(e)
	old := strings.Split(as.old, "\n")
	if len(old) < anchoredLines {
		return nil, e, nil
	}
	b := newBlock(as, old)
	have := linesOf(s.text)
	ids := make([]int32, len(have))
	for i, line := range have {
		ids[i] = b.of(line.text)
	}
	var places []int
	for i := 0; i+len(old) <= len(have); i++ {
		if ids[i] != b.wanted[0] || ids[i+len(old)-1] != b.wanted[len(old)-1] {
			continue
		}
		alike, err := b.similar(ctx, s, ids[i:i+len(old)])
		if err != nil {
			return nil, e, err
		}
		if alike {
			places = append(places, i)
		}
	}
	spans, err := s.indentable(ctx, have, places, as)
	spans, as = s.wholeLines(spans, as, ended)
	return spans, as, err
}

// block is an old text to find by its first and last line.
type block struct {
	*numbering
	wanted []int32
	keeps  []bool               // which lines the replacement keeps
	likes  map[[2]int32]float64 // how much two lines are alike
}

func newBlock(e replacement, old []string) *block {
	b := &block{numbering: newNumbering(fold{looks: true, dash: "-"}), likes: map[[2]int32]float64{}}
	b.wanted = b.all(old)
	b.keeps = slices.Repeat([]bool{true}, len(old))
	for _, d := range e.differences(old, strings.Split(strings.ReplaceAll(e.new, "\r\n", "\n"), "\n")) {
		for i := d.OldFrom; i < d.OldTo; i++ {
			b.keeps[i] = false
		}
	}
	return b
}

// similar reports whether the lines between the ends are similar enough to those of the block.
func (b *block) similar(ctx context.Context, s *textSearch, have []int32) (bool, error) {
	between := len(have) - 2
	missing := 0.0
	for i := 1; i <= between; i++ {
		if have[i] == b.wanted[i] {
			continue
		}
		like := 0.0
		if b.keeps[i] {
			var err error
			if like, err = b.like(ctx, s, have[i], b.wanted[i]); err != nil {
				return false, err
			}
		}
		if missing += 1 - like; like < likeEnough || missing > (1-likeEnoughInAll)*float64(between)+1e-9 {
			return false, s.spend(ctx, i)
		}
	}
	return true, s.spend(ctx, between)
}

// like is between 0 and 1, the same.
func (b *block) like(ctx context.Context, s *textSearch, x, y int32) (float64, error) {
	pair := [2]int32{x, y}
	like, known := b.likes[pair]
	if known {
		return like, nil
	}
	one, other := b.texts[x], b.texts[y]
	longest := max(len(one), len(other))
	if longest <= 1000 && min(len(one), len(other)) >= longest/2 {
		if err := s.spend(ctx, costOfCell*len(one)*len(other)); err != nil {
			return 0, err
		}
		like = 1 - float64(spelling.Distance(one, other))/float64(longest)
	}
	b.likes[pair] = like
	return like, nil
}

// differences returns the changed lines between old and next: as given by the edit, otherwise by
// comparing them.
func (e replacement) differences(old, next []string) []diff.Change {
	if e.stated != nil && fits(e.stated, old, next) {
		return e.stated
	}
	return diff.Compare(old, next)
}

// fits reports whether the lines outside the differences are the same.
func fits(said []diff.Change, old, next []string) bool {
	i, j := 0, 0
	for _, d := range said {
		if d.OldTo > len(old) || d.NewTo > len(next) || !slices.Equal(old[i:d.OldFrom], next[j:d.NewFrom]) {
			return false
		}
		i, j = d.OldTo, d.NewTo
	}
	return slices.Equal(old[i:], next[j:])
}
