package memory

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

const (
	maxPrompt  = 32 << 10  // bytes of a stored prompt; a longer prompt was pasted
	maxPrompts = 256 << 10 // bytes of all prompts of a session
	maxStored  = 32 << 10  // bytes of all prompts stored with the session
)

// typed holds the user's typed prompts in a session. It is safe for concurrent use.
type typed struct {
	mu      sync.Mutex
	prompts []string // newest last
}

// add keeps a prompt. If there are too many, the oldest are dropped.
func (t *typed) add(prompt string) {
	if prompt == "" || len(prompt) > maxPrompt {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prompts = newest(append(t.prompts, prompt), maxPrompts)
}

// stored returns the prompts to store.
func (t *typed) stored() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(newest(t.prompts, maxStored))
}

// newest returns the last prompts, up to a number of bytes.
func newest(prompts []string, limit int) []string {
	from := len(prompts)
	for total := 0; from > 0; from-- {
		if total += len(prompts[from-1]); total > limit {
			break
		}
	}
	return prompts[from:]
}

// covers reports whether the user typed an entry in a single prompt: as a run of its words. If all
// words of the entry are plain, other words of the prompt may be left out. Case, white space,
// quotes and the marks between sentences may differ.
func (t *typed) covers(entry string) bool {
	want := tokens(entry)
	if len(want) == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.prompts, func(prompt string) bool { return contains(tokens(prompt), want) })
}

// token is a word between white space, or a character of a script without spaces.
type token struct {
	text     string // without quotes; in lower case, unless the case can change its effect
	plain    bool   // it is a word or a number, so it is no path, host, option or sign
	unspaced bool   // its script uses no spaces
	parts    bool   // a ";" follows
	ends     bool   // another mark follows
}

// contains reports whether the words of an entry are in a prompt.
func contains(prompt, entry []token) bool {
	for at := range prompt {
		if at > 0 && negates(prompt[at-1]) {
			continue
		}
		if rest, ok := followed(prompt[at:], entry); ok && !limited(entry[len(entry)-1], prompt[at:], rest) {
			return true
		}
	}
	return false
}

// Between the words of an entry, a prompt may contain leftOut other words, plus leftOutPerWord for
// each word of the entry.
const (
	leftOut        = 12
	leftOutPerWord = 2
)

// limited reports whether the sentence continues after the entry's last word with a condition
// missing in the entry.
func limited(last token, prompt []token, rest int) bool {
	ends := prompt[rest-1]
	return !ends.ends && !ends.parts && !last.unspaced && rest < len(prompt) && slices.Contains(conditions, prompt[rest].text)
}

// conditions are words that limit the text before them.
var conditions = strings.Fields("only unless except until if when after before without but while once provided " +
	"nur außer bis wenn falls nachdem bevor sauf si quand après avant sans salvo excepto solo cuando después antes")

// followed reports whether a prompt begins with the words of an entry in their order, and how many
// words of the prompt they span.
func followed(prompt, entry []token) (words int, ok bool) {
	gaps := !slices.ContainsFunc(entry, func(t token) bool { return !t.plain })
	left := leftOut + leftOutPerWord*len(entry)
	at := 0
	for i, want := range entry {
		for ; at < len(prompt) && prompt[at].text != want.text; at++ {
			if left--; i == 0 || !gaps || left < 0 || want.unspaced || entry[i-1].unspaced || negates(prompt[at]) || program(entry[:i]) {
				return 0, false
			}
		}
		if at == len(prompt) || i < len(entry)-1 && prompt[at].parts != want.parts {
			return 0, false
		}
		at++
	}
	return at, true
}

// program reports whether a sentence of an entry has begun to name a program: the words after
// it can be its arguments.
func program(words []token) bool {
	for _, w := range slices.Backward(words) {
		if w.ends || w.parts {
			return false
		}
		if rules.All().Programs[w.text] != nil {
			return true
		}
	}
	return false
}

// negations are words that change the meaning of the words after them.
var negations = strings.Fields("not no never none neither nor cannot without avoid stop instead rather except unless " +
	"don't doesn't didn't isn't aren't won't can't shouldn't mustn't wouldn't dont cant wont " +
	"nicht kein keine keinen nie niemals ohne statt ne pas jamais sans nunca sin não sem non mai senza 不 没 別 别 勿 未 無")

// negates reports whether a word changes the meaning of the words after it. If a mark follows, as
// in "No, use tabs", it does not.
func negates(t token) bool { return !t.ends && !t.parts && slices.Contains(negations, t.text) }

const (
	quotes = "\"'`“”„‟‘’‚‛«»‹›「」『』"
	marks  = ".,:!?…;"
)

// marksWithoutSpace separate sentences in scripts without spaces.
const marksWithoutSpace = "。、，．：；！？…「」『』（）"

// unspaced are the scripts without spaces between words.
var unspaced = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// tokens returns the words of a text.
func tokens(text string) (all []token) {
	for _, field := range strings.Fields(text) {
		all = append(all, split(field)...)
	}
	return all
}

// split returns the tokens of a text without white space. A path or an address stays whole.
func split(field string) (all []token) {
	if !strings.ContainsFunc(field, isUnspaced) {
		if t := word(field); t.text != "" {
			all = append(all, t)
		}
		return all
	}
	add := func(text string) bool {
		t := word(text)
		if t.text != "" {
			all = append(all, t)
		}
		return t.text == "" || t.plain
	}
	begin := 0
	for i, r := range field {
		mark := strings.ContainsRune(marksWithoutSpace, r)
		if !mark && !isUnspaced(r) {
			continue
		}
		if !add(field[begin:i]) {
			return []token{word(field)}
		}
		if begin = i + len(string(r)); !mark {
			all = append(all, token{text: string(r), plain: true, unspaced: true})
		} else if len(all) > 0 {
			all[len(all)-1].ends = true
		}
	}
	if !add(field[begin:]) {
		return []token{word(field)}
	}
	return all
}

func isUnspaced(r rune) bool { return unicode.In(r, unspaced...) }

// word returns the token of a text.
func word(text string) (t token) {
	for {
		bare := strings.Trim(text, quotes)
		cut := strings.TrimRight(bare, marks)
		if last, _ := utf8.DecodeLastRuneInString(cut); cut != bare && (unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(quotes+")]}", last)) {
			t.ends, t.parts = true, t.parts || strings.Contains(bare[len(cut):], ";")
			bare = cut
		}
		if bare == text {
			break
		}
		text = bare
	}
	text = strings.ReplaceAll(text, "’", "'")
	t.plain = isPlain(text)
	if t.text = text; t.plain || !strings.ContainsAny(text, `/\~$=`) && !strings.HasPrefix(text, "-") {
		t.text = strings.ToLower(text)
	}
	return t
}

// isPlain reports whether a text is a word or a number, perhaps with a hyphen or an apostrophe inside.
func isPlain(text string) bool {
	inside := false // the last character may be followed by a hyphen
	for _, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if !letter && !(inside && (r == '-' || r == '\'')) {
			return false
		}
		inside = letter
	}
	return inside
}
