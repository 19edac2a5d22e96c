// Package texttest generates texts for tests of text positions.
package texttest

import (
	"strings"

	"pgregory.net/rapid"
)

// Texts generates texts in which positions are difficult: every kind of line end,
// characters of every width, bytes that are not UTF-8.
func Texts() *rapid.Generator[string] {
	pieces := []string{"\n", "\r\n", "\r", "a", "bc", " ", "é", "€", "😀", "\xff", "\xe2\x82", "line\n", "line\r\n"}
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces"), "")
	})
}
