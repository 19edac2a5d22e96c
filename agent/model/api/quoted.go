package api

import (
	"bytes"
	"encoding/json"
)

// Quoted decodes the JSON string at the start of data and returns the bytes after it. It is
// several times cheaper than a JSON decoder for the whole event. If there is no string, it
// returns false.
func Quoted(data []byte) (text string, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != '"' {
		return "", nil, false
	}
	plain := true
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\':
			plain = false
			i++
		case c == '"' && plain:
			return string(data[1:i]), data[i+1:], true
		case c == '"':
			err := json.Unmarshal(data[:i+1], &text)
			return text, data[i+1:], err == nil
		case c < ' ' || c >= 0x80: // may be invalid
			plain = false
		}
	}
	return "", nil, false
}

// After returns the bytes after the first occurrence of a member's name in data, its colon and
// white space. name includes its quotes: inside a JSON string, they would be escaped. If there
// is none, it returns false.
func After(data []byte, name string) ([]byte, bool) {
	_, rest, ok := bytes.Cut(data, []byte(name))
	if !ok {
		return nil, false
	}
	rest, ok = bytes.CutPrefix(TrimSpace(rest), []byte{':'})
	return TrimSpace(rest), ok
}

// TrimSpace removes the white space of JSON at the start of data.
func TrimSpace(data []byte) []byte { return bytes.TrimLeft(data, " \t\r\n") }
