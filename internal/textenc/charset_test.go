package textenc

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func utf16Bytes(c Charset, text string) []byte {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		out = c.order().AppendUint16(out, u)
	}
	return out
}

func TestCharsetOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Charset{
		"":                      CharsetUTF8,
		"plain\n":               CharsetUTF8,
		"naïve 世界\n":            CharsetUTF8,
		"caf\xe9\n":             CharsetLatin1,
		"\x93quoted\x94 \x80 5": CharsetLatin1,
		"\xfcbung":              CharsetLatin1,
		"caf\xe9":               CharsetLatin1, // cut at the end
		"世界 and one bad \xff":   CharsetUTF8,
		"\x01\x02\xff\xfe\x03":  CharsetUTF8, // no text at all
		"\xff\xfea\x00":         CharsetUTF16LE,
		"\xfe\xff\x00a":         CharsetUTF16BE,
		"\xff\xfea\x00b":        CharsetUTF8, // half a character
		"\xef\xbb\xbfbom":       CharsetUTF8,
	} {
		if got := CharsetOf([]byte(text)); got != want {
			t.Errorf("CharsetOf(%q) = %v, want %v", text, got, want)
		}
	}
}

// Whatever the bytes are, decoding and encoding gives them back.
func TestCharsetKeepsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		for _, c := range []Charset{CharsetUTF8, CharsetUTF16LE, CharsetUTF16BE, CharsetLatin1} {
			text := text
			if c == CharsetUTF16LE || c == CharsetUTF16BE {
				text = text[:len(text)&^1]
			}
			if got, err := c.Encode(c.Decode(text)); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%v: %q became %q, %v", c, text, got, err)
			}
		}
	})
	for _, c := range []Charset{CharsetUTF16LE, CharsetUTF16BE} {
		text := "\ufeffnaïve 世界 😀\r\n"
		if got := c.Decode(utf16Bytes(c, text)); string(got) != text || !utf8.Valid(got) {
			t.Errorf("%v: decoded %q", c, got)
		}
	}
	if _, err := CharsetLatin1.Encode([]byte("a\n世")); err == nil || !strings.Contains(err.Error(), `has no '世' (line 2`) {
		t.Errorf("err = %v", err)
	}
}

func TestTallyInPieces(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"naïve 世界 😀 \xff", "caf\xe9", strings.Repeat("ascii only ", 20) + "\xe9\xe8"} {
		var whole tally
		whole.write([]byte(text))
		for n := 1; n < 7; n++ {
			var pieces tally
			for piece := range slices.Chunk([]byte(text), n) {
				pieces.write(piece)
			}
			if pieces.whole != whole.whole || pieces.broken+len(pieces.left) != whole.broken+len(whole.left) {
				t.Errorf("%q in pieces of %d: %+v, whole %+v", text, n, pieces, whole)
			}
		}
	}
}
