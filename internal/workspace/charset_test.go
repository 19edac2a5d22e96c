package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

func utf16Bytes(c textenc.Charset, text string) []byte {
	out := make([]byte, 0, 2*len(text))
	for _, u := range utf16.Encode([]rune(text)) {
		if c == textenc.CharsetUTF16BE {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func TestLinesOfCharsets(t *testing.T) {
	t.Parallel()
	w, _ := open(t, map[string]string{
		"le":      string(utf16Bytes(textenc.CharsetUTF16LE, "\ufeffeins\r\nzwei ü\r\n")),
		"be":      string(utf16Bytes(textenc.CharsetUTF16BE, "\ufeffeins\nzwei 😀")),
		"utf32":   "\xff\xfe\x00\x00a\x00\x00\x00",
		"latin":   "caf\xe9\n\x80 5\n",
		"one bad": "世界\n\xff\n",
		"large":   string(utf16Bytes(textenc.CharsetUTF16LE, "\ufeff"+strings.Repeat("line\n", 100_000))),
	}, nil)
	for _, test := range []struct {
		path   string
		offset int
		want   []string
		total  int
		c      textenc.Charset
		binary bool
	}{
		{"le", 1, []string{"eins", "zwei ü"}, 2, textenc.CharsetUTF16LE, false},
		{"be", 2, []string{"zwei 😀"}, 2, textenc.CharsetUTF16BE, false},
		{"utf32", 1, nil, 0, textenc.CharsetUTF8, true},
		{"latin", 1, []string{"café", "€ 5"}, 2, textenc.CharsetLatin1, false},
		{"one bad", 1, []string{"世界", "\xff"}, 2, textenc.CharsetUTF8, false},
		{"large", 100_000, []string{"line"}, 100_000, textenc.CharsetUTF16LE, false},
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
