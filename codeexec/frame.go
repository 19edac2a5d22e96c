package codeexec

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// longText is the length from which on a text of a result travels behind the JSON:
// Python reads a text as it is twenty times faster than out of JSON.
const longText = 2 << 10

// frame appends the answer with a result to dst:
//
//	uint32 length of what follows | uint32 number | uint32 length of the JSON | JSON |
//	for each long text: uint32 length | the text
//
// A NaN, which no JSON has, stands in the JSON where a long text belongs.
func frame(dst []byte, number uint32, result []byte) []byte {
	begin := len(dst)
	dst = append(dst, make([]byte, 12)...)
	var texts [][2]int // where in result
	done := 0
	for i := 0; len(result)-i > longText; {
		open := bytes.IndexByte(result[i:], '"')
		if open < 0 {
			break
		}
		open += i
		i = textEnd(result, open)
		if i-open > longText && !isKey(result[i:]) {
			texts = append(texts, [2]int{open, i})
			dst = append(append(dst, result[done:open]...), "NaN"...)
			done = i
		}
	}
	dst = append(dst, result[done:]...)
	binary.BigEndian.PutUint32(dst[begin+8:], uint32(len(dst)-begin-12))
	for _, at := range texts {
		size := len(dst)
		dst = appendText(append(dst, 0, 0, 0, 0), result[at[0]:at[1]])
		binary.BigEndian.PutUint32(dst[size:], uint32(len(dst)-size-4))
	}
	binary.BigEndian.PutUint32(dst[begin:], uint32(len(dst)-begin-4))
	binary.BigEndian.PutUint32(dst[begin+4:], number)
	return dst
}

// isKey tells it of a text by what comes after: a key stays in the JSON.
func isKey(after []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(after, " \t\r\n"), []byte(":"))
}

// textEnd is where the JSON text ends that begins at i.
func textEnd(value []byte, i int) int {
	for i++; ; i++ {
		next := bytes.IndexByte(value[i:], '"')
		if next < 0 {
			return len(value)
		}
		i += next
		escapes := 0
		for value[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// appendText appends what a JSON text says.
func appendText(dst, quoted []byte) []byte {
	text := quoted[1 : len(quoted)-1]
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 == len(text) {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		escape := text[i+1]
		text = text[i+2:]
		switch escape {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, n := escapedRune(text)
			dst, text = utf8.AppendRune(dst, r), text[n:]
		default: // \" \\ \/
			dst = append(dst, escape)
		}
	}
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
