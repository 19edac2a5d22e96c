// Package textenc reads and writes text in the encodings of files and editors: charsets,
// positions as LSP counts them, and lines.
package textenc

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Charset is the encoding of a file. Decoding loses nothing: if decoded text is encoded
// again, the result is the same bytes.
type Charset int

// The charsets detected by CharsetOf. CharsetUTF8 is also the result for bytes of no other charset;
// they are used unchanged, valid or not.
const (
	CharsetUTF8 Charset = iota
	CharsetUTF16LE
	CharsetUTF16BE
	CharsetLatin1 // windows-1252, of which Latin-1 is a part
	// CharsetUnknown is an unknown or uncertain encoding with one or several bytes for a character.
	// It is shown as windows-1252, which loses nothing.
	CharsetUnknown
	CharsetGBK
	CharsetGB18030
	CharsetBig5
	CharsetShiftJIS
	CharsetEUCJP
	CharsetISO2022JP
	CharsetEUCKR
	CharsetKOI8R
	CharsetWindows1251
)

func (c Charset) String() string {
	switch c {
	case CharsetUTF16LE:
		return "UTF-16 LE"
	case CharsetUTF16BE:
		return "UTF-16 BE"
	case CharsetLatin1:
		return "Latin-1 (windows-1252)"
	case CharsetUnknown:
		return "an encoding that is not known (shown as windows-1252)"
	}
	if known, ok := legacy[c]; ok {
		return known.name
	}
	return "UTF-8"
}

// CharsetOf detects the charset of a whole text: UTF-16 by its byte order mark, others by bytes
// that cannot be UTF-8 and by the frequent characters of a language.
func CharsetOf(text []byte) Charset {
	if c := markedCharset(text, int64(len(text))); c != CharsetUTF8 {
		return c
	}
	var t tally
	t.write(text)
	c := t.charset()
	if _, ok := legacy[c]; !ok || len(text) <= sampleSize {
		return c
	}
	if !c.keeps(text) {
		switch {
		case c == CharsetGBK && CharsetGB18030.keeps(text):
			return CharsetGB18030
		case c == CharsetISO2022JP:
			return CharsetUTF8
		}
		return CharsetUnknown
	}
	return c
}

// markedCharset returns the charset of the byte order mark in head. If size is odd, the text is not
// UTF-16.
func markedCharset(head []byte, size int64) Charset {
	switch {
	case size%2 != 0:
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return CharsetUTF16LE
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return CharsetUTF16BE
	}
	return CharsetUTF8
}

func (c Charset) order() interface {
	binary.ByteOrder
	binary.AppendByteOrder
} {
	if c == CharsetUTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Decode returns text as UTF-8; a byte order mark becomes U+FEFF. To lose nothing, half of a
// surrogate pair becomes the three bytes of its number in UTF-8.
func (c Charset) Decode(text []byte) []byte {
	switch c {
	case CharsetUTF16LE, CharsetUTF16BE:
		return c.decode16(text)
	case CharsetLatin1, CharsetUnknown:
		out := make([]byte, 0, len(text)+len(text)/8)
		for _, b := range text {
			out = utf8.AppendRune(out, fromLatin1(b))
		}
		return out
	}
	if _, ok := legacy[c]; ok {
		return c.decodeLegacy(text)
	}
	return text
}

func (c Charset) decode16(text []byte) []byte {
	order := c.order()
	out := make([]byte, 0, len(text))
	for i := 0; i+1 < len(text); i += 2 {
		u := rune(order.Uint16(text[i:]))
		if !utf16.IsSurrogate(u) {
			out = utf8.AppendRune(out, u)
			continue
		}
		if i+3 < len(text) {
			if r := utf16.DecodeRune(u, rune(order.Uint16(text[i+2:]))); r != utf8.RuneError {
				out = utf8.AppendRune(out, r)
				i += 2
				continue
			}
		}
		out = append(out, 0xe0|byte(u>>12), 0x80|byte(u>>6)&0x3f, 0x80|byte(u)&0x3f)
	}
	return out
}

// Encode converts UTF-8 text to the charset. If the charset lacks a character of text,
// the error names the character and its line.
func (c Charset) Encode(text []byte) ([]byte, error) {
	switch c {
	case CharsetUTF16LE, CharsetUTF16BE:
		return c.encode16(text), nil
	case CharsetLatin1:
		return encodeLatin1(text, c, "or convert the file to UTF-8 first")
	case CharsetUnknown:
		return encodeLatin1(text, c, "or change the file with a program that knows its encoding; do not convert it from Latin-1, which would destroy it")
	}
	if _, ok := legacy[c]; ok {
		return c.encodeLegacy(text)
	}
	return text, nil
}

func (c Charset) encode16(text []byte) []byte {
	order := c.order()
	out := make([]byte, 0, 2*len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if half, ok := halfPair(text); ok {
			r, size = half, 3
		}
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			out = order.AppendUint16(out, uint16(high))
			r = low
		}
		out = order.AppendUint16(out, uint16(r))
		text = text[size:]
	}
	return out
}

// halfPair reads decode16's three bytes for half a surrogate pair.
func halfPair(text []byte) (rune, bool) {
	if len(text) < 3 || text[0] != 0xed || text[1]&0xe0 != 0xa0 || text[2]&0xc0 != 0x80 {
		return 0, false
	}
	return rune(text[0]&0xf)<<12 | rune(text[1]&0x3f)<<6 | rune(text[2]&0x3f), true
}

// fromLatin1 and toLatin1 map the five undefined bytes of windows-1252 to the control characters of
// their number, as browsers do.
func fromLatin1(b byte) rune {
	if r := charmap.Windows1252.DecodeByte(b); r != utf8.RuneError {
		return r
	}
	return rune(b)
}

func toLatin1(r rune) (byte, bool) {
	if b, ok := charmap.Windows1252.EncodeRune(r); ok && r != utf8.RuneError {
		return b, true
	}
	return byte(r), r >= 0x80 && r < 0xa0 && fromLatin1(byte(r)) == r
}

func encodeLatin1(text []byte, c Charset, advice string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for i, r := range string(text) {
		b, ok := toLatin1(r)
		if !ok {
			return nil, lacks(c, r, text[:i], advice)
		}
		out = append(out, b)
	}
	return out, nil
}

// tally counts the bytes of a stream that distinguish UTF-8 from Latin-1.
type tally struct {
	whole, broken int // multi-byte characters; invalid UTF-8 bytes
	high          int // bytes over 127
	odd           int // control characters among the first bytes; text has none
	seen          int
	left          []byte // the beginning of a character
	sample        []byte // see sampleMore
	last          byte   // before the sample
	more          bool   // the text is longer than the sample
}

func (t *tally) write(text []byte) {
	t.sniff(text)
	t.sampleMore(text)
	for len(t.left) > 0 && len(text) > 0 { // a character cut in two
		t.left, text = append(t.left, text[0]), text[1:]
		if left := t.left; utf8.FullRune(left) {
			t.left = nil
			t.count(left)
		}
	}
	t.count(text)
}

func (t *tally) count(text []byte) {
	for len(text) > 0 {
		text = text[asciiLength(text):]
		if len(text) == 0 {
			return
		}
		t.high++
		if !utf8.FullRune(text) {
			t.left = bytes.Clone(text)
			return
		}
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			t.broken++
		} else {
			t.whole++
		}
		text = text[size:]
	}
}

func (t *tally) sniff(text []byte) {
	for _, b := range text[:max(0, min(len(text), binaryPrefix-t.seen))] {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != 0x1b {
			t.odd++
		}
	}
	t.seen += len(text)
}

// asciiLength returns the length of the longest ASCII prefix of text.
func asciiLength(text []byte) int {
	n := 0
	for ; n+8 <= len(text); n += 8 {
		if binary.LittleEndian.Uint64(text[n:])&0x8080808080808080 != 0 {
			break
		}
	}
	for n < len(text) && text[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// noText reports whether the bytes are not text: they are in no detected charset, and contain more
// control characters than text does.
func (t *tally) noText() bool {
	return t.broken+len(t.left) > t.whole && t.odd > 0 && 50*t.odd >= min(t.seen, binaryPrefix)
}

func (t *tally) charset() Charset {
	switch {
	case t.odd == 0 && t.escaped():
		return CharsetISO2022JP
	case t.odd > 0 || 3*(t.broken+len(t.left)) <= t.whole:
		return CharsetUTF8
	}
	c := t.legacy()
	if _, known := legacy[c]; !known && t.broken+len(t.left) <= t.whole {
		return CharsetUTF8
	}
	return c
}
