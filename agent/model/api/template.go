package api

import (
	_ "embed"
	"sync"
)

//go:embed template.txt
var templateTable string

// templateWordings returns the wordings of template.txt.
var templateWordings = sync.OnceValue(func() [][]string { return wordingsIn(templateTable) })

// ofTemplate reports whether a server error comes from the chat template of a local model. Such a
// failure depends on the messages: the same request always fails. text is in lower case.
func ofTemplate(text string) bool {
	for _, parts := range templateWordings() {
		if inOrder(text, parts) {
			return true
		}
	}
	return false
}
