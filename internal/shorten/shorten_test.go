package shorten_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/shorten"
)

func TestShortTextsStay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{shorten.OneLine(" a\n\tb ", 10), "a b"},
		{shorten.OneLine("abcdef", 4), "abc…"},
		{shorten.OneLine("ab cdef", 4), "ab…"},
		{shorten.OneLine("日本語です", 3), "日本…"},
		{shorten.FirstLine("\n\n a \nb"), "a"},
		{shorten.Start("abc", 3), "abc"},
		{shorten.Start("aüb", 2), "a…"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestOneLineIsShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(1, 50).Draw(t, "limit")
		line := shorten.OneLine(text, limit)
		if utf8.RuneCountInString(line) > limit || strings.ContainsAny(line, "\n\r\t") {
			t.Errorf("%q", line)
		}
	})
}
