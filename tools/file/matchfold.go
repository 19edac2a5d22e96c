package file

import (
	"context"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold lists the differences ignored by a comparison of texts. The zero fold ignores none.
type fold struct {
	ends   bool   // blanks at the end of a line
	blanks bool   // how many blanks there are between words of a line
	looks  bool   // similar quotes, dashes, spaces and accents
	dash   string // how a long dash is read, when looks is set
}

var (
	looksLong  = fold{ends: true, looks: true, dash: "--"}
	looksShort = fold{ends: true, looks: true, dash: "-"}
)

// foldedText is text under a fold. Each of its bytes represents a piece of the original: a
// character, or a run of blanks.
type foldedText struct {
	text       string
	start, end []int32 // of the piece, for each byte
}

// key is the text under the fold, without the places.
func (f fold) key(text string) string { return f.apply(text).text }

func (f fold) apply(text string) foldedText {
	b := folding{start: make([]int32, 0, len(text)), end: make([]int32, 0, len(text))}
	b.out.Grow(len(text))
	begins := true // of a line
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			j := i + blanksAt(text[i:])
			switch atEnd := j == len(text) || text[j] == '\n'; {
			case f.ends && atEnd:
			case f.blanks && !begins:
				b.add(" ", i, j)
			default:
				b.copy(text, i, j)
			}
			i, begins = j, false
		case c < utf8.RuneSelf || !f.looks:
			_, size := utf8.DecodeRuneInString(text[i:])
			b.add(text[i:i+size], i, i+size)
			i, begins = i+size, c == '\n'
		default:
			r, size := utf8.DecodeRuneInString(text[i:])
			b.add(f.look(r, text[i:i+size]), i, i+size)
			i, begins = i+size, false
		}
	}
	return foldedText{b.out.String(), b.start, b.end}
}

func blanksAt(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

type folding struct {
	out        strings.Builder
	start, end []int32
}

// add writes as for the piece of the text from i up to j.
func (b *folding) add(as string, i, j int) {
	b.out.WriteString(as)
	for range len(as) {
		b.start, b.end = append(b.start, int32(i)), append(b.end, int32(j))
	}
}

func (b *folding) copy(text string, i, j int) {
	for ; i < j; i++ {
		b.add(text[i:i+1], i, i+1)
	}
}

// look returns the ASCII form of a character. If there is none, it returns the letter and
// its accents.
func (f fold) look(r rune, raw string) string {
	switch r {
	case '‘', '’', '‚', '‛', '′', '‵':
		return "'"
	case '“', '”', '„', '‟', '″':
		return `"`
	case '‐', '‑', '‒', '–', '−':
		return "-"
	case '—', '―':
		return f.dash
	case '…':
		return "..."
	case '\u00a0', '\u202f', '\u205f', '\u3000':
		return " "
	case '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad':
		return ""
	case utf8.RuneError:
		return raw
	}
	if r >= '\u2000' && r <= '\u200a' {
		return " "
	}
	return norm.NFD.String(raw)
}

// places returns the spans of wanted, a text under the same fold, in the original of t. It skips a
// place that would cut a piece in two.
func (t foldedText) places(wanted string) []span {
	var spans []span
	for _, at := range placesOf(t.text, wanted) {
		if end := at + len(wanted); !t.splits(at) && !t.splits(end) {
			spans = append(spans, span{int(t.start[at]), int(t.end[end-1])})
		}
	}
	return spans
}

// splits reports whether at is inside a piece.
func (t foldedText) splits(at int) bool {
	return at > 0 && at < len(t.text) && t.start[at-1] == t.start[at]
}

// places returns the spans of old in text under the fold.
func (f fold) places(text, old string) []span {
	wanted := f.key(old)
	if strings.TrimSpace(wanted) == "" {
		return nil
	}
	return f.apply(text).places(wanted)
}

// folded searches for old under a fold.
func folded(f fold) finder {
	return func(_ context.Context, s *textSearch, e replacement) ([]span, replacement, error) {
		return f.places(s.text, e.old), e, nil
	}
}
