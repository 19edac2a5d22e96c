package api

import (
	_ "embed"
	"slices"
	"sync"
)

//go:embed template.txt
var templateTable string

// templateWordings returns the wordings of template.txt.
var templateWordings = sync.OnceValue(func() [][]string { return wordingsIn(templateTable) })

//go:embed interpreter.txt
var interpreterTable string

// interpreterWordings returns the wordings of interpreter.txt.
var interpreterWordings = sync.OnceValue(func() [][]string { return wordingsIn(interpreterTable) })

// ofTemplate reports whether a server error comes from the chat template of a local model. Such a
// failure depends on the messages: the same request always fails. text is in lower case.
func ofTemplate(text string) bool {
	return hasWording(text, templateWordings()) || ofInterpreter(text)
}

// ofInterpreter reports whether a server error is one of a template or of the server's own code, which
// may not depend on the messages.
func ofInterpreter(text string) bool { return hasWording(text, interpreterWordings()) }

func hasWording(text string, wordings [][]string) bool {
	return slices.ContainsFunc(wordings, func(parts []string) bool { return inOrder(text, parts) })
}
