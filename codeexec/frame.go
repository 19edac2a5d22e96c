package codeexec

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// longText is the length from which on a text of a result travels behind the JSON:
// Python reads a text as it is many times faster than out of JSON.
const longText = 2 << 10

// framer makes the frames of answers, again and again in the same memory.
type framer struct{ plain, texts []byte }

// frame is the answer with a result, in two pieces that are valid until the next one is
// made. The second one is mostly empty.
//
//	uint32 length of what follows | uint32 number | uint32 length of the JSON | JSON |
//	for each long text: uint32 length | the text
//
// A NaN, which no JSON has, stands in the JSON where a long text belongs.
func (f *framer) frame(number uint32, result []byte) (plain, texts []byte) {
	plain, texts = append(f.plain[:0], make([]byte, 12)...), f.texts[:0]
	done := 0
	for i := 0; len(result)-i > longText; {
		open := bytes.IndexByte(result[i:], '"')
		if open < 0 {
			break
		}
		open += i
		if len(result)-open <= longText {
			break
		}
		if i = textEnd(result[:open+longText], open); i > 0 {
			continue
		}
		before := len(texts)
		texts, i = appendText(append(texts, 0, 0, 0, 0), result, open)
		if isKey(result[i:]) {
			texts = texts[:before]
			continue
		}
		binary.BigEndian.PutUint32(texts[before:], uint32(len(texts)-before-4))
		plain = append(append(plain, result[done:open]...), "NaN"...)
		done = i
	}
	return f.framed(number, append(plain, result[done:]...), texts)
}

// framed writes the lengths, and keeps the memory.
func (f *framer) framed(number uint32, plain, texts []byte) (_, _ []byte) {
	binary.BigEndian.PutUint32(plain, uint32(len(plain)+len(texts)-4))
	binary.BigEndian.PutUint32(plain[4:], number)
	binary.BigEndian.PutUint32(plain[8:], uint32(len(plain)-12))
	f.plain, f.texts = plain, texts
	if cap(plain)+cap(texts) > mostSpare {
		*f = framer{}
	}
	return plain, texts
}

// isKey tells it of a text by what comes after: a key stays in the JSON.
func isKey(after []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(after, " \t\r\n"), []byte(":"))
}

// textEnd is where the JSON text ends that begins at i; 0: it does not.
func textEnd(value []byte, i int) int {
	for i++; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// Bytes side by side in a word.
const (
	ones       = 0x0101010101010101
	tops       = 0x8080808080808080
	quotes     = ones * '"'
	backslants = ones * '\\'
)

// appendText appends what the JSON text says that begins at i, and returns where it
// ends. Of this, half of a large answer's cost is made: eight bytes are copied at a
// time, as far as there is neither escape nor end among them, and after some of
// these a longer stretch.
func appendText(dst, value []byte, i int) (text []byte, end int) {
	i++
	dst = slices.Grow(dst, len(value)-i+8)
	n, room := len(dst), dst[:cap(dst)]
	words := 0 // one after another that were plain
	for i+8 <= len(value) {
		word := binary.LittleEndian.Uint64(value[i:])
		binary.LittleEndian.PutUint64(room[n:], word)
		q, b := word^quotes, word^backslants
		run := bits.TrailingZeros64(((q-ones)&^q|(b-ones)&^b)&tops) / 8 // 8: neither is there
		i, n = i+run, n+run
		if run == 8 {
			if words++; words == 4 {
				words = 0
				stretch := plainStretch(value[i:min(len(value), i+1024)])
				i, n = i+len(stretch), n+copy(room[n:], stretch)
			}
			continue
		}
		words = 0
		if value[i] == '"' {
			return room[:n], i + 1
		}
		if i+1 == len(value) {
			break
		}
		if c := escapes[value[i+1]]; c != 0 {
			room[n] = c
			i, n = i+2, n+1
			continue
		}
		r, size := escapedRune(value[i+2:])
		i, n = i+2+size, n+utf8.EncodeRune(room[n:], r)
		if len(room)-n < len(value)-i+8 { // a wrong escape takes less room than its rune
			room = slices.Grow(room[:n], len(value)-i+8)
			room = room[:cap(room)]
		}
	}
	return appendRest(room[:n], value, i)
}

// plainStretch is what stands before the first quote or backslash.
func plainStretch(value []byte) []byte {
	for _, c := range [...]byte{'"', '\\'} {
		if i := bytes.IndexByte(value, c); i >= 0 {
			value = value[:i]
		}
	}
	return value
}

// escapes are the characters that stand behind a backslash for others.
var escapes = [256]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/'}

// appendRest is appendText for the last few bytes of value, of a text that has begun.
func appendRest(dst, value []byte, i int) (text []byte, end int) {
	for i < len(value) && value[i] != '"' {
		switch {
		case value[i] != '\\' || i+1 == len(value):
			dst = append(dst, value[i])
			i++
		case escapes[value[i+1]] != 0:
			dst = append(dst, escapes[value[i+1]])
			i += 2
		default:
			r, size := escapedRune(value[i+2:])
			dst = utf8.AppendRune(dst, r)
			i += 2 + size
		}
	}
	return dst, min(i+1, len(value))
}

// escapedRune reads what stands behind \u: four digits, or two pairs of four.
func escapedRune(text []byte) (r rune, size int) {
	first, ok := hex4(text)
	if !ok {
		return utf8.RuneError, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 4
	}
	if rest := text[4:]; bytes.HasPrefix(rest, []byte(`\u`)) {
		if second, ok := hex4(rest[2:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 10
			}
		}
	}
	return utf8.RuneError, 4
}

func hex4(text []byte) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[:4]), 16, 32)
	return rune(n), err == nil
}
