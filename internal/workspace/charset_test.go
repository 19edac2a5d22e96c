package workspace

import (
	"bytes"
	"os"
	"path/filepath"
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

func TestLinesOfCharsets(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{
		"le":      string(utf16Bytes(CharsetUTF16LE, "\ufeffeins\r\nzwei ü\r\n")),
		"be":      string(utf16Bytes(CharsetUTF16BE, "\ufeffeins\nzwei 😀")),
		"utf32":   "\xff\xfe\x00\x00a\x00\x00\x00",
		"latin":   "caf\xe9\n\x80 5\n",
		"one bad": "世界\n\xff\n",
		"large":   string(utf16Bytes(CharsetUTF16LE, "\ufeff"+strings.Repeat("line\n", 100_000))),
	}, nil)
	for _, test := range []struct {
		path   string
		offset int
		want   []string
		total  int
		c      Charset
		binary bool
	}{
		{"le", 1, []string{"eins", "zwei ü"}, 2, CharsetUTF16LE, false},
		{"be", 2, []string{"zwei 😀"}, 2, CharsetUTF16BE, false},
		{"utf32", 1, nil, 0, CharsetUTF8, true},
		{"latin", 1, []string{"café", "€ 5"}, 2, CharsetLatin1, false},
		{"one bad", 1, []string{"世界", "\xff"}, 2, CharsetUTF8, false},
		{"large", 100_000, []string{"line"}, 100_000, CharsetUTF16LE, false},
	} {
		got, err := w.Lines(t.Context(), test.path, test.offset, 5)
		if err != nil || !slices.Equal(got.Lines, test.want) || got.Total != test.total || got.Charset != test.c || got.Binary != test.binary {
			t.Errorf("%s: %+v, %v", test.path, got, err)
		}
	}
	if _, err := w.Write(t.Context(), "le", []byte("x")); err != nil {
		t.Errorf("a text in UTF-16 was read, and is stale at once: %v", err)
	}
}

// A large text is read in the memory of a few buffers.
func TestLinesInLittleMemory(t *testing.T) {
	w, dir := open(t, nil, nil)
	f, err := os.Create(filepath.Join(dir, "big"))
	must(t, err)
	chunk := []byte(strings.Repeat("a line of text, caf\u00e9\n", 48_000))
	for range 80 {
		_, err := f.Write(chunk)
		must(t, err)
	}
	must(t, f.Close())
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, err := w.Lines(t.Context(), "big", 3_000_000, 10); err != nil {
				b.Fatal(err)
			}
		}
	})
	if got := result.AllocedBytesPerOp(); got > 4<<20 {
		t.Errorf("reading %d MB took %d bytes of memory", 80*len(chunk)>>20, got)
	}
}
