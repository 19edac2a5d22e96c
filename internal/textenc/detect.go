package textenc

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// An older encoding is detected if the text is much more probable in it than in any other: most
// characters of a text come from a few hundred, which differ by language. If no encoding or two
// encodings fit, the text is in [CharsetUnknown].

// An encoding must be better than the next by these logarithms of the ratio of the probabilities.
// Latin-1 is by far the most frequent.
const (
	certain      = 7
	certainLatin = 2
	certainOther = 1 // Central Europe or Turkey
)

// guess returns the most probable encoding of a text other than UTF-8, and whether it is certain.
func guess(sample []byte) (found Charset, sure bool) {
	best, next := math.Inf(-1), math.Inf(-1)
	for _, g := range guesses() {
		p := g.weigh(sample)
		if p > best {
			best, next, found = p, best, g.charset
		} else {
			next = max(next, p)
		}
	}
	limit := certain
	if found == CharsetLatin1 {
		limit = certainLatin
	}
	return found, best-next >= float64(limit)
}

// guessed is a possible encoding of a text. If it is only weighed, its charset is CharsetUnknown.
type guessed struct {
	charset Charset
	weigh   func(sample []byte) float64 // the logarithm of the probability of a text
}

var guesses = sync.OnceValue(func() []guessed {
	chinese, taiwan, japan, korea := chineseText(), taiwaneseText(), japaneseText(), koreanText()
	return []guessed{
		{CharsetGB18030, decoded(CharsetGB18030, chinese)},
		{CharsetBig5, decoded(CharsetBig5, taiwan)},
		{CharsetShiftJIS, decoded(CharsetShiftJIS, japan)},
		{CharsetEUCJP, decoded(CharsetEUCJP, japan)},
		{CharsetEUCKR, decoded(CharsetEUCKR, korea)},
		{CharsetWindows1251, written(CharsetWindows1251, russian)},
		{CharsetKOI8R, written(CharsetKOI8R, russian)},
		{CharsetLatin1, decoded(CharsetLatin1, latinText)},
		{CharsetUnknown, written(greekCode, greek)},
		{CharsetUnknown, decoded(hebrewCode, alphabet(hebrew))},
		{CharsetUnknown, decoded(arabicCode, alphabet(arabic))},
		{CharsetUnknown, decoded(thaiCode, alphabet(thai))},
		{CharsetUnknown, anyText},
	}
})

// inCapitals is for a text in capitals, which is rare. Capitals in one encoding are small letters
// in others.
const inCapitals = -5

// written returns a function that weighs text of an alphabet in an encoding.
func written(c Charset, letters string) func([]byte) float64 {
	weigh := decoded(c, alphabet(letters))
	return func(sample []byte) float64 {
		upper, lower := false, false
		for _, r := range string(c.Decode(sample)) {
			upper = upper || r >= utf8.RuneSelf && unicode.IsUpper(r)
			lower = lower || r >= utf8.RuneSelf && unicode.IsLower(r)
		}
		if upper && !lower && letters != greek { // Greek headings often are
			return weigh(sample) + inCapitals
		}
		return weigh(sample)
	}
}

// isWestern reports whether a text that looks like Latin-1 is not more probable in an encoding of
// Central Europe or Turkey, which puts other letters in the same places.
func isWestern(sample []byte) bool {
	own := decoded(CharsetLatin1, latinText)(sample)
	other := max(decoded(centralCode, lettersOf(central, sharedCentral))(sample), decoded(centralISOCode, lettersOf(central, sharedCentral))(sample),
		decoded(turkishCode, lettersOf(turkish, sharedTurkish))(sample))
	return other-own < certainOther
}

// odds returns the logarithm of the probability of a character. Its neighbors are 0 at the ends.
type odds func(before, r, after rune) float64

// plainOdds are the odds of an ASCII character, in every encoding.
const plainOdds = -3

// decoded returns a function that weighs text in an encoding.
func decoded(c Charset, weigh odds) func([]byte) float64 {
	return func(sample []byte) float64 {
		text := []rune(string(c.Decode(sample)))
		sum := 0.0
		for i, r := range text {
			switch {
			case r == utf8.RuneError:
				return math.Inf(-1)
			case r < utf8.RuneSelf:
				sum += plainOdds
				continue
			}
			var before, after rune
			if i > 0 {
				before = text[i-1]
			}
			if i+1 < len(text) {
				after = text[i+1]
			}
			sum += weigh(before, r, after)
		}
		return sum
	}
}

// anyText weighs text in an unknown encoding.
func anyText(sample []byte) float64 {
	sum := 0.0
	for _, b := range sample {
		if b < utf8.RuneSelf {
			sum += plainOdds
		} else {
			sum += oddsOther
		}
	}
	return sum
}

var (
	oddsOther = math.Log(1.0 / 110) // of a byte
	oddsRare  = math.Log(1e-6)
	oddsNever = math.Log(1e-9)
)

// common are the odds of characters by their class.
type common map[rune]float64

func (c common) add(p float64, chars ...rune) {
	for _, r := range chars {
		if _, ok := c[r]; !ok {
			c[r] = math.Log(p)
		}
	}
}

// addRows adds the two-byte characters with the first byte in a range, with each second byte of the
// encoding.
func (c common) addRows(charset Charset, from, to byte, p float64) {
	for first := int(from); first <= int(to); first++ {
		for second := 0x40; second < 0xff; second++ {
			for _, r := range string(charset.Decode([]byte{byte(first), byte(second)})) {
				if r >= 0x2e80 {
					c.add(p, r)
				}
			}
		}
	}
}

func (c common) odds(_, r, _ rune) float64 {
	if p, ok := c[r]; ok {
		return p
	}
	if unicode.Is(unicode.Co, r) || unicode.IsControl(r) {
		return oddsNever
	}
	return oddsRare
}

func runesIn(from, to rune) (all []rune) {
	for r := from; r <= to; r++ {
		all = append(all, r)
	}
	return all
}

// firstOnes is how many characters of a list are much more frequent than the others.
const firstOnes = 100

func (c common) addList(list string, first, rest float64) {
	chars := []rune(list)
	n := min(firstOnes, len(chars))
	c.add(first, chars[:n]...)
	c.add(rest, chars[n:]...)
}

func chineseText() odds {
	c := common{}
	c.add(4e-3, []rune("，。、；：？！“”‘’（）《》【】—…·　")...)
	c.addList(simplified, 4.2e-3, 8e-4)
	c.addRows(CharsetGB18030, 0xb0, 0xd7, 5e-5)
	return c.odds
}

func taiwaneseText() odds {
	c := common{}
	c.add(4e-3, []rune("，。、；：？！「」『』（）《》【】—…‧　︰")...)
	c.addList(traditional, 4.2e-3, 8e-4)
	c.addRows(CharsetBig5, 0xa4, 0xc6, 4e-5)
	return c.odds
}

func japaneseText() odds {
	c := common{}
	c.add(8e-3, []rune("、。「」（）・ー　：！？～")...)
	c.add(6e-3, runesIn('ぁ', 'ん')...)
	c.add(1.4e-3, runesIn('ァ', 'ヶ')...)
	c.add(3e-5, runesIn('｡', 'ﾟ')...)
	c.addList(kanji, 1.5e-3, 6e-4)
	c.addRows(CharsetEUCJP, 0xb0, 0xcf, 3e-5)
	return c.odds
}

func koreanText() odds {
	c := common{}
	c.add(3e-3, []rune("“”‘’…·「」『』《》　")...)
	c.addList(hangul, 6e-3, 1.2e-3)
	c.addRows(CharsetEUCKR, 0xb0, 0xc8, 3e-5)
	return c.odds
}

// alphabet weighs letters by their frequency. A letter beside an ASCII letter is not likely.
func alphabet(letters string) odds {
	c := common{}
	p := 0.1
	for _, r := range letters {
		c.add(p, r)
		c.add(p*0.03, unicode.ToUpper(r))
		p *= 0.9
	}
	c.add(2e-3, []rune("«»—–№“”„…’ёЁ\u00a0")...)
	return func(before, r, after rune) float64 {
		p := c.odds(before, r, after)
		if !unicode.IsLetter(r) {
			return p
		}
		for _, beside := range []rune{before, after} {
			if beside < utf8.RuneSelf && unicode.IsLetter(beside) {
				p += math.Log(0.05)
			}
		}
		if letters == greek && !unicode.IsLetter(after) && !strings.ContainsRune(greekEnds, unicode.ToLower(r)) {
			p += math.Log(0.03)
		}
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			p += math.Log(0.02)
		}
		if unicode.IsUpper(r) && (unicode.IsUpper(before) || unicode.IsUpper(after)) {
			p += math.Log(33) // a word in capitals
		}
		return p
	}
}

// lettersOf weighs the letters of languages with Latin letters, like latinText for Western Europe.
// They share some letters with these languages; all others are improbable.
func lettersOf(own []rune, shared string) odds {
	return func(before, r, after rune) float64 {
		p := 0.015
		switch {
		case !slices.Contains(own, unicode.ToLower(r)):
			p = 1e-4
			if strings.ContainsRune(shared, unicode.ToLower(r)) || !unicode.IsLetter(r) {
				return latinText(before, r, after)
			}
		case !unicode.IsLetter(before) && !unicode.IsLetter(after):
			p = 5e-4
		case unicode.IsUpper(r):
			p = 4e-3
		}
		return math.Log(p * beside(before, r))
	}
}

// beside is a factor for a character after another non-ASCII character.
func beside(before, r rune) float64 {
	switch {
	case before < utf8.RuneSelf, before|0x20 == 'ç' && (r|0x20 == 'ã' || r|0x20 == 'õ'):
		return 1
	case unicode.IsLetter(before) && unicode.IsLetter(r):
		return 0.03
	}
	return 0.3
}

// latinText weighs the letters of Western Europe. Two such letters in a row are unlikely, except as
// signs. Signs inside a word are unlikely, except for apostrophes and similar.
func latinText(before, r, after rune) float64 {
	p := 2e-4
	switch i := slices.Index(latin, r); {
	case r == 'õ' && after != 'e', r == 'ì' && unicode.IsLetter(after): // not as in Portuguese and Italian
		p = 1e-3
	case r == 'þ' || r == 'ð': // of Icelandic
		p = 8e-3
	case r == 'œ':
		p = 2e-4
		if after == 'u' {
			p = 0.02
		}
	case i >= 0 && i < 26:
		p = 0.03
	case i >= 0:
		p = 6e-3
	case unicode.IsLower(r):
		p = 2e-3
	}
	if unicode.IsLetter(before) && !unicode.IsLetter(r) && unicode.IsLetter(after) && !slices.Contains(inWords, r) {
		p *= 0.02
	}
	return math.Log(p * beside(before, r))
}
