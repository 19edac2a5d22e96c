// Package tokens estimates the number of tokens of a text without the model's tokenizer.
//
// The estimate is for the tokenizers of current models (o200k and similar). It is rather too high
// than too low, so a text cut by it stays below its limit.
package tokens

import "unicode/utf8"

// Estimate estimates the tokens of a text.
func Estimate(text string) int {
	n := 0
	for i := 0; i < len(text); {
		size, cost := piece(text[i:])
		n += cost
		i += size
	}
	return n
}

// piece returns the length and the tokens of the next piece: a word, a number, a run of spaces, or
// any other character.
func piece(text string) (size, cost int) {
	c := text[0]
	switch {
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRuneInString(text)
		if r < 0x3400 || r >= 0xac00 && r < 0xd7b0 { // letters of most alphabets
			return size, 1
		}
		return size, 2
	case letter(c):
		return word(text)
	case digit(c):
		size = run(text, digit)
		return size, (size + 2) / 3
	case c == ' ' && len(text) > 1 && text[1] != ' ':
		return 1, 0 // belongs to the next piece
	case c == ' ':
		return run(text, func(c byte) bool { return c == ' ' }), 1
	}
	return 1, 1
}

// word is a run of letters: a single upper-case letter belongs to the lower-case letters after it.
// A word without vowels, such as a random name, has shorter tokens.
func word(text string) (size, cost int) {
	vowels := 0
	for size < len(text) && letter(text[size]) && (size < 2 || upper(text[size]) == upper(text[size-1])) {
		if size == 1 && upper(text[1]) && !upper(text[0]) {
			break
		}
		switch text[size] | 0x20 {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			vowels++
		}
		size++
	}
	if size >= 4 && vowels*5 < size {
		return size, (size + 1) / 2
	}
	return size, (size + 3) / 4
}

func run(text string, is func(byte) bool) (size int) {
	for size < len(text) && is(text[size]) {
		size++
	}
	return size
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
