package memory

import (
	"strings"
	"sync"
	"unicode"
)

// enoughTyped is the share of an entry's words, in percent, that the user must have typed.
const enoughTyped = 60

// shortest is the length from which a word counts, in letters.
const shortest = 4

// maxUnits bounds the words that are kept of one session.
const maxUnits = 100_000

// typed holds the words that the user typed in a session. It is safe for concurrent use.
type typed struct {
	mu    sync.Mutex
	units map[string]bool
}

func (t *typed) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.units == nil {
		t.units = map[string]bool{}
	}
	for _, u := range units(text) {
		if len(t.units) >= maxUnits {
			return
		}
		t.units[u] = true
	}
}

// all returns the words.
func (t *typed) all() (list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for u := range t.units {
		list = append(list, u)
	}
	return list
}

// covers reports whether the user typed enough of an entry's words. An entry without such words
// was not typed.
func (t *typed) covers(entry string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, known := units(entry), 0
	for _, u := range all {
		if t.units[u] {
			known++
		}
	}
	return len(all) > 0 && 100*known >= enoughTyped*len(all)
}

// unspaced are the scripts that put no spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// units returns the words of a text that count, in lower case. Of scripts without spaces, they
// are pairs of neighboring characters.
func units(text string) (all []string) {
	var word []rune
	var before rune // the last character, if its script has no spaces
	end := func() {
		if len(word) >= shortest {
			all = append(all, string(word))
		}
		word = word[:0]
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unspaced...):
			end()
			if before != 0 {
				all = append(all, string([]rune{before, r}))
			}
			before = r
			continue
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			word = append(word, r)
		default:
			end()
		}
		before = 0
	}
	end()
	return all
}
