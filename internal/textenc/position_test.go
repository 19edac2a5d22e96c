package textenc

import (
	"testing"
	"unicode/utf8"
)

func TestOffset(t *testing.T) {
	t.Parallel()
	const text = "aé😀b\r\nc\rd\ne"
	for _, test := range []struct {
		line, character uint32
		utf8, utf16     int
		utf32           int
	}{
		{0, 0, 0, 0, 0},
		{0, 1, 1, 1, 1},
		{0, 2, 1, 3, 3}, // inside é in UTF-8: its start
		{0, 3, 3, 3, 7}, // inside the surrogate pair in UTF-16: its start
		{0, 4, 3, 7, 8},
		{0, 5, 3, 8, 8},
		{0, 7, 7, 8, 8},
		{0, 99, 8, 8, 8}, // past the line: before its CRLF
		{1, 0, 10, 10, 10},
		{1, 9, 11, 11, 11},
		{2, 0, 12, 12, 12},
		{3, 1, 15, 15, 15},
		{4, 0, 15, 15, 15}, // past the text
		{1 << 31, 1 << 31, 15, 15, 15},
	} {
		for enc, want := range map[Encoding]int{UTF8: test.utf8, UTF16: test.utf16, UTF32: test.utf32} {
			if got := Offset([]byte(text), Position{test.line, test.character}, enc); got != want {
				t.Errorf("Offset(%d:%d, %s) = %d, want %d", test.line, test.character, enc, got, want)
			}
		}
	}
}

func TestPositionAt(t *testing.T) {
	t.Parallel()
	const text = "aé😀b\r\nc\rd\ne"
	for offset, want := range map[int]Position{
		-1: {0, 0}, 0: {0, 0}, 2: {0, 1}, 3: {0, 2}, 5: {0, 2}, 7: {0, 4}, 8: {0, 5}, 9: {0, 5},
		10: {1, 0}, 11: {1, 1}, 12: {2, 0}, 13: {2, 1}, 14: {3, 0}, 15: {3, 1}, 99: {3, 1},
	} {
		if got := PositionAt([]byte(text), offset, UTF16); got != want {
			t.Errorf("PositionAt(%d) = %v, want %v", offset, got, want)
		}
	}
}

func TestLastPosition(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Position{
		"": {0, 0}, "a": {0, 1}, "a\n": {0, 1}, "\n": {0, 0}, "a\n\n": {1, 0}, "a\r\n": {0, 1}, "a\r\n\r\n": {1, 0}, "a\né😀\n": {1, 3}, "a\nb": {1, 1},
	} {
		if got := LastPosition([]byte(text), UTF16); got != want {
			t.Errorf("LastPosition(%q) = %v, want %v", text, got, want)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add("aé😀b\r\nc\rd\ne", uint32(0), uint32(3), 7)
	f.Add("\r\r\n\n\r", uint32(2), uint32(0), 2)
	f.Add("\xff\xe2\x82\n\xf0\x9f", uint32(1), uint32(1), 4)
	f.Fuzz(func(t *testing.T, s string, line, character uint32, offset int) {
		text := []byte(s)
		starts := lineStarts(text)
		for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
			at := Offset(text, Position{line, character}, enc)
			if at < 0 || at > len(text) || Splits(text, at) && utf8.Valid(text) {
				t.Fatalf("Offset(%q, %d:%d, %s) = %d", s, line, character, enc, at)
			}
			if back := Offset(text, PositionAt(text, at, enc), enc); back != at {
				t.Fatalf("%q, %s: %d is %v is %d", s, enc, at, PositionAt(text, at, enc), back)
			}
			if quick, slow := NewGapBuffer(text).Offset(Position{line, character}, enc), at; quick != slow {
				t.Fatalf("%q: %d:%d is %d in pieces, %d in whole", s, line, character, quick, slow)
			}
			p := PositionAt(text, offset, enc)
			if int(p.Line) >= len(starts) || Offset(text, p, enc) > max(offset, 0) {
				t.Fatalf("PositionAt(%q, %d, %s) = %v", s, offset, enc, p)
			}
		}
	})
}
