// Package clean removes invisible characters from texts of servers.
package clean

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Text returns a server's text without characters that are invisible or control a
// terminal. It cuts the text at limit.
func Text(text string, limit int) string {
	if !visible(text) {
		text = strings.Map(func(r rune) rune {
			switch {
			case r == '\n' || r == '\t':
				return r
			case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
				return -1
			}
			return r
		}, strings.ToValidUTF8(tools.Outside(text), ""))
	}
	return shorten.Start(text, limit)
}

// visible reports whether a text contains only printable ASCII characters, newlines and tabs, like
// most texts of servers.
func visible(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// Line returns a text in one line, without invisible characters, cut at limit.
func Line(text string, limit int) string {
	return strings.Join(strings.Fields(Text(text, limit)), " ")
}

// values are the keys of a JSON schema whose values a caller sends as they are.
var values = []string{"enum", "const", "default", "examples", "pattern", "required"}

// Schema cleans the texts in a JSON schema, such as descriptions.
func Schema(schema map[string]any) {
	for key, value := range schema {
		if slices.Contains(values, key) {
			continue
		}
		switch v := value.(type) {
		case string:
			schema[key] = Text(v, len(v))
		case map[string]any:
			if key != "properties" && key != "patternProperties" && key != "$defs" && key != "definitions" {
				Schema(v)
				continue
			}
			for _, one := range v { // under any name, also that of a key
				if m, ok := one.(map[string]any); ok {
					Schema(m)
				}
			}
		case []any:
			for _, one := range v {
				if m, ok := one.(map[string]any); ok {
					Schema(m)
				}
			}
		}
	}
}
