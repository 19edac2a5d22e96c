package api

import (
	"encoding/json"
	"unicode/utf8"
)

// Closing returns the index of the closing quote of a JSON string. s starts after the opening
// quote. If there is none, Closing returns len(s).
func Closing(s []byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}

// Unquote decodes a JSON string without its quotes. If it is not valid, Unquote returns
// false.
func Unquote(inside []byte) (string, bool) {
	plain := true
	for _, c := range inside {
		if c < ' ' || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return string(inside), utf8.Valid(inside)
	}
	var text string
	quoted := append(append([]byte{'"'}, inside...), '"')
	err := json.Unmarshal(quoted, &text)
	return text, err == nil
}
