// Package textfile reads text files written by hand or copied from other programs: settings,
// secrets, instructions, skills, commands, hooks.
//
// Editors and shells write such files in several encodings. PowerShell and Notepad write UTF-16 and
// byte order marks. Every function returns UTF-8 without a byte order mark, or an error with advice
// to repair the file.
package textfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// Read is [safefile.Read] for a text.
func Read(path string, limit int64) ([]byte, error) { return decode(safefile.Read(path, limit)) }

// ReadIn is [safefile.ReadIn] for a text.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	return decode(safefile.ReadIn(root, name, limit))
}

// ReadBelow is [safefile.ReadBelow] for a text.
func ReadBelow(folder, name string, limit int64) ([]byte, error) {
	return decode(safefile.ReadBelow(folder, name, limit))
}

func decode(data []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return Decode(data)
}

// EncodingError is the error of a file whose encoding is not known.
type EncodingError struct {
	Line int // the first unreadable line; 0: unknown
	What string
}

func (e *EncodingError) Error() string { return e.What + "; save it as UTF-8" }

// Decode returns the bytes of a file as UTF-8 without a byte order mark. It reads UTF-8, UTF-16 with or without a
// byte order mark, and the older encodings of [textenc.CharsetOf]. For any other content it returns an [*EncodingError].
func Decode(data []byte) ([]byte, error) {
	if plain(data) {
		return data, nil
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")) || bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")) {
		return nil, &EncodingError{What: "it is written in UTF-32"}
	}
	charset := textenc.CharsetOf(data)
	if charset == textenc.CharsetUTF8 {
		charset = unmarked(data)
	}
	switch {
	case charset == textenc.CharsetUTF8 && (bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))):
		return nil, &EncodingError{What: "it begins as UTF-16 and has an odd number of bytes: a part of it is in another encoding"}
	case charset == textenc.CharsetUnknown:
		at := bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf })
		return nil, &EncodingError{Line: lineAt(data, at), What: "its encoding is not known"}
	}
	text := bytes.TrimPrefix(charset.Decode(data), []byte("\ufeff"))
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, &EncodingError{Line: lineAt(text, at), What: "it has the character NUL, which no text has"}
	}
	return text, nil
}

// PlainJSON returns JSON with spaces instead of comments, and of commas before a closing bracket.
// Editors and other agents allow both in their settings (JSONC). Offsets and lines stay the same.
func PlainJSON(data []byte) []byte {
	out := bytes.TrimPrefix(bytes.Clone(data), []byte("\xef\xbb\xbf"))
	comma := -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			comma = -1
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := bytes.Index(out[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			for stop := i + end + 4; i < stop; i++ {
				out[i] = ' '
			}
			i--
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

// JSONError returns an error of decoding JSON, with its line.
func JSONError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	at := int64(-1)
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	}
	if at < 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", lineAt(data, int(min(at, int64(len(data))))), err)
}

// plain reports whether the bytes are ASCII without NUL, as most files are.
func plain(data []byte) bool {
	for _, b := range data {
		if b == 0 || b >= 0x80 {
			return false
		}
	}
	return true
}

// unmarked returns the charset of UTF-16 without a byte order mark: of two bytes, one is nearly
// always 0.
func unmarked(data []byte) textenc.Charset {
	zeros := [2]int{}
	for i, b := range data {
		if b == 0 {
			zeros[i%2]++
		}
	}
	switch half := len(data) / 2; {
	case len(data)%2 != 0 || half == 0:
	case zeros[0] == 0 && 2*zeros[1] > half:
		return textenc.CharsetUTF16LE
	case zeros[1] == 0 && 2*zeros[0] > half:
		return textenc.CharsetUTF16BE
	}
	return textenc.CharsetUTF8
}

func lineAt(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }
