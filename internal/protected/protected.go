// Package protected names the files and folders that configure or run something by
// themselves, such as .vscode and AGENTS.md. Approvals and the sandbox protect them.
package protected

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed protected.txt
var source string

// Name is a name that is protected in each folder.
type Name struct {
	Text   string // a name, "folder/name", or of the kind "ending" the end of one
	Kind   string // "folder", "path", "ending", or "sandbox" if only the sandbox protects it
	Reason string // the effect of a change
	// If Runs is set, the sandbox makes it read-only. If Reviewed is set, the user reviews a change.
	Runs, Reviewed bool
}

// Names returns all names, in the case in which they are usual.
var Names = sync.OnceValue(func() (names []Name) {
	var section Name
	for line := range strings.Lines(source) {
		switch {
		case line[0] == '#', line[0] == '\n':
		case line[0] != ' ':
			section.Kind, section.Reason, _ = strings.Cut(strings.TrimSpace(line), ": ")
			section.Kind = strings.TrimSuffix(section.Kind, ":")
		default:
			for _, word := range strings.Fields(line) {
				name := section
				name.Text = strings.TrimRight(word, "*+")
				name.Runs, name.Reviewed = strings.HasSuffix(word, "*"), strings.HasSuffix(word, "+")
				names = append(names, name)
			}
		}
	}
	return names
})
