package toolsearch

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/hermes-ls/hermes-ls/tools"
)

// index finds tools by words. It ranks them by BM25: rare words, and words of the name, weigh most.
type index struct {
	tools    []tools.Tool
	length   []float64 // of each tool, in words
	mean     float64
	spelled  map[string]int // counts of words, by spelling
	words    map[string]int // numbers of words, by their stem
	postings [][]posting    // by the number of a word
}

// posting counts a word in a tool.
type posting struct {
	tool  int32
	count float32
}

const (
	nameWeight  = 3
	longestText = 1000 // indexed bytes of a description
)

func newIndex(all []tools.Tool) *index {
	x := &index{tools: all, length: make([]float64, len(all)), spelled: map[string]int{}, words: map[string]int{}}
	total := 0.0
	for i, t := range all {
		x.add(i, t.Name, nameWeight)
		if t.Group != nil {
			x.add(i, t.Group.Name, 1)
		}
		x.add(i, t.Description[:min(len(t.Description), longestText)], 1)
		total += x.length[i]
	}
	x.mean = max(total/float64(max(len(all), 1)), 1)
	return x
}

// add indexes a text of a tool.
func (x *index) add(tool int, text string, weight float32) {
	for word := range wordsOf(text) {
		n, known := x.spelled[word]
		if !known {
			n = x.number(word)
			x.spelled[word] = n
		}
		x.length[tool]++
		if n < 0 {
			continue
		}
		list := x.postings[n]
		if last := len(list) - 1; last >= 0 && list[last].tool == int32(tool) {
			list[last].count += weight
		} else {
			x.postings[n] = append(list, posting{int32(tool), weight})
		}
	}
}

// number returns the number of a word. If it is too common to find anything, number returns
// -1.
func (x *index) number(word string) int {
	word = stem(strings.ToLower(word))
	if common[word] {
		return -1
	}
	n, known := x.words[word]
	if !known {
		n = len(x.postings)
		x.words[word] = n
		x.postings = append(x.postings, nil)
	}
	return n
}

// common are words without information about a tool.
var common = map[string]bool{"a": true, "an": true, "and": true, "by": true, "for": true, "in": true, "it": true, "its": true, "mcp": true, "of": true, "on": true, "or": true, "the": true, "to": true, "with": true}

// find returns the tools with a word of the query, the best first.
func (x *index) find(query string) []tools.Tool {
	scores := make([]float64, len(x.tools))
	seen := map[string]bool{}
	for word := range wordsOf(query) {
		word = stem(strings.ToLower(word))
		if seen[word] {
			continue
		}
		seen[word] = true
		if n, known := x.words[word]; known {
			x.score(scores, x.postings[n], 1)
		}
		if len(word) < 4 {
			continue
		}
		for longer, n := range x.words {
			if len(longer) > len(word) && strings.HasPrefix(longer, word) {
				x.score(scores, x.postings[n], 0.5)
			}
		}
	}
	var found []int
	for i, score := range scores {
		if score > 0 {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b) })
	list := make([]tools.Tool, len(found))
	for n, i := range found {
		list[n] = x.tools[i]
	}
	return list
}

func (x *index) score(scores []float64, list []posting, weight float64) {
	const k, b = 1.2, 0.75
	n, has := float64(len(x.tools)), float64(len(list))
	rare := math.Log(1 + (n-has+0.5)/(has+0.5))
	for _, p := range list {
		f := float64(p.count)
		score := weight * rare * f * (k + 1) / (f + k*(1-b+b*x.length[p.tool]/x.mean))
		scores[p.tool] += math.Round(score*1e6) / 1e6 // makes the order of additions irrelevant
	}
}

// wordsOf returns the words of a text. Names such as createIssue and create_issue are two
// words.
func wordsOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, lower := -1, false
		for i, r := range text {
			letter := unicode.IsLetter(r) || unicode.IsDigit(r)
			if start >= 0 && (!letter || lower && unicode.IsUpper(r)) {
				if !yield(text[start:i]) {
					return
				}
				start = -1
			}
			if letter && start < 0 {
				start = i
			}
			lower = unicode.IsLower(r)
		}
		if start >= 0 {
			yield(text[start:])
		}
	}
}

// stem removes common English endings. For example, issues and issue, listing and list, created and
// create become the same words.
func stem(word string) string {
	for _, ending := range []string{"ing", "ies", "es", "ed", "s", "e", "y"} {
		if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) >= 3 {
			return rest
		}
	}
	return word
}
