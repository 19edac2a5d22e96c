package tools

import (
	"unicode"
	"unicode/utf8"
)

// Tokens estimates the tokens of text, for limits. Tokenizers differ; for code, prose, numbers and
// encoded data the estimate is near the count of o200k, and seldom below it.
func Tokens(text string) int {
	sixths := 0 // of a token
	var before class
	run := 0
	for i := 0; i < len(text); {
		c, size := classOf(text[i:])
		if c != before || c == lower && run >= 9 || c == digit && run >= 3 || c == sign && run >= 3 || c == wide {
			if !(before == blank && run == 1 && (c == lower || c == upper || c == sign)) && !(before == upper && run == 1 && c == lower) {
				sixths += 6
			}
			if before == digit && (c == lower || c == upper) || c == digit && (before == lower || before == upper) {
				sixths += 4 // encoded data: seldom in a tokenizer's list
			}
			run = 0
		}
		before = c
		run++
		i += size
	}
	return sixths / 6
}

// class is a kind of characters that tokenizers join.
type class int

const (
	_ class = iota
	lower
	upper
	digit
	sign
	blank
	wide
)

func classOf(text string) (c class, size int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r >= 'a' && r <= 'z':
		return lower, size
	case r >= 'A' && r <= 'Z':
		return upper, size
	case r >= '0' && r <= '9':
		return digit, size
	case r == ' ' || r == '\t' || r == '\n' || r == '\r':
		return blank, size
	case r < utf8.RuneSelf:
		return sign, size
	case unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Cyrillic, r) || unicode.Is(unicode.Greek, r):
		return lower, size
	}
	return wide, size
}

// TokensInJSON estimates the tokens of text as a JSON string.
func TokensInJSON(text string) int {
	data, err := Marshal(text)
	if err != nil {
		return Tokens(text)
	}
	return Tokens(string(data))
}
