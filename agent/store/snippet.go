package store

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// snippetWords is the number of words in an excerpt. wordsBefore is how many of them precede the
// match.
const (
	snippetWords = 24
	wordsBefore  = 6
)

// token is a word of a text, split like the index.
type token struct {
	start, end int // bytes
	folded     string
}

func tokens(text string) (list []token) {
	for i := 0; i < len(text); {
		start := i + strings.IndexFunc(text[i:], inWord)
		if start < i {
			break
		}
		end := len(text)
		if n := strings.IndexFunc(text[start:], func(r rune) bool { return !inWord(r) }); n >= 0 {
			end = start + n
		}
		list = append(list, token{start, end, folded(text[start:end])})
		i = end
	}
	return list
}

func inWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.Mn, unicode.Co)
}

// folded returns a word without case and diacritics.
func folded(word string) string {
	for _, r := range word {
		if r >= 0x80 {
			word = strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, norm.NFD.String(word))
			break
		}
	}
	return strings.ToLower(word)
}

// found is the position of a match in a text.
type found struct{ first, last, word int } // tokens, inclusive; the index of the word

func places(text []token, words []string) (all []found) {
	phrases := make([][]token, len(words))
	for i, w := range words {
		phrases[i] = tokens(w)
	}
	for at := 0; at < len(text); at++ {
		for i, p := range phrases {
			if begins(text[at:], p) {
				all = append(all, found{at, at + len(p) - 1, i})
				at += len(p) - 1
				break
			}
		}
	}
	return all
}

// begins reports whether a text begins with a phrase. The last word of the phrase may be a
// prefix.
func begins(text, phrase []token) bool {
	if len(phrase) == 0 || len(text) < len(phrase) {
		return false
	}
	for i, p := range phrase {
		if i < len(phrase)-1 && text[i].folded != p.folded || !strings.HasPrefix(text[i].folded, p.folded) {
			return false
		}
	}
	return true
}

// excerpt returns the part of a text with the most different words, with marks. If the text
// contains none, it returns the beginning of the text.
func excerpt(text string, words []string) string {
	all := tokens(text)
	hits := places(all, words)
	if len(hits) == 0 {
		return clip(text)
	}
	first := max(0, hits[densest(hits)].first-wordsBefore)
	last := min(len(all), first+snippetWords) - 1
	first = max(0, last+1-snippetWords)
	var b strings.Builder
	from := 0
	if first > 0 {
		b.WriteString("…")
		from = all[first].start
	}
	for _, h := range hits {
		if h.first >= first && h.last <= last {
			b.WriteString(text[from:all[h.first].start] + Mark + text[all[h.first].start:all[h.last].end] + EndMark)
			from = all[h.last].end
		}
	}
	if last == len(all)-1 {
		return b.String() + text[from:]
	}
	return b.String() + text[from:all[last].end] + "…"
}

// densest returns the index of the match whose excerpt contains the most different words.
func densest(hits []found) (best int) {
	most := 0
	for i, h := range hits {
		different := map[int]bool{}
		for _, other := range hits[i:] {
			if other.last >= h.first+snippetWords-wordsBefore {
				break
			}
			different[other.word] = true
		}
		if len(different) > most {
			best, most = i, len(different)
		}
	}
	return best
}

// snippetRunes is the number of characters on each side of a match.
const snippetRunes = 60

// cutAround returns the part of text around the first word found, with marks. If there is none,
// cutAround returns the beginning of the text.
func cutAround(text string, words []string) string {
	for _, w := range words {
		i := strings.Index(strings.ToLower(text), strings.ToLower(w))
		if i < 0 || i+len(w) > len(text) {
			continue
		}
		before, after := []rune(text[:i]), []rune(text[i+len(w):])
		start, end := "", ""
		if len(before) > snippetRunes {
			before, start = before[len(before)-snippetRunes:], "…"
		}
		if len(after) > snippetRunes {
			after, end = after[:snippetRunes], "…"
		}
		return start + string(before) + Mark + text[i:i+len(w)] + EndMark + string(after) + end
	}
	return clip(text)
}

func clip(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), 4*snippetRunes)], "")
}
