// Package protected names the files and folders that configure or run something, such as .vscode
// and AGENTS.md. The gate requires approval for a change to each of them, and the sandbox protects
// and reviews them. protected.txt lists the names of other programs, loaded.txt the files loaded by
// hermes-ls.
package protected

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed protected.txt
var others string

//go:embed loaded.txt
var loaded string

// Name is a name protected in each folder. Its case does not matter.
type Name struct {
	Text   string // a name, "folder/name", or the end of a name for the kind "ending"
	Kind   string // "folder", "path", "ending", or "passes" for an unprotected folder
	Reason string // the effect of a change
	Source string // the address of a page about it
	Loaded bool   // hermes-ls loads it
	// If Runs is set, the sandbox makes it read-only in a workspace folder. The user reviews a change of any name.
	Runs bool
}

// Names returns all names, in the case in which they are usual.
var Names = sync.OnceValue(func() []Name {
	names := parse(others)
	for _, n := range parse(loaded) {
		n.Loaded = true
		names = append(names, n)
	}
	return names
})

func parse(text string) (names []Name) {
	var section Name
	for line := range strings.Lines(text) {
		switch {
		case line[0] == '#', line[0] == '\n':
		case line[0] != ' ':
			section.Kind, section.Reason, _ = strings.Cut(strings.TrimSpace(line), ": ")
			section.Kind = strings.TrimSuffix(section.Kind, ":")
		default:
			list, source, _ := strings.Cut(strings.TrimSpace(line), "  ")
			for _, word := range strings.Fields(list) {
				name := section
				name.Text, name.Runs = strings.CutSuffix(word, "*")
				name.Source = source
				names = append(names, name)
			}
		}
	}
	return names
}

// place is a name of a file or a folder.
type place struct {
	anywhere, runs bool
	within         []string // names of folders, in lower case, in which it is protected
}

// index returns the places by their names, in lower case, and the ends of names.
var index = sync.OnceValues(func() (places map[string]place, endings []Name) {
	places = map[string]place{}
	for _, n := range Names() {
		if n.Kind == "ending" {
			endings = append(endings, n)
			continue
		}
		if n.Kind == "passes" {
			continue
		}
		name := strings.ToLower(n.Text)
		folder, inner, nested := strings.Cut(name, "/")
		if nested {
			name = inner
		}
		p := places[name]
		if nested {
			p.within = append(p.within, folder)
		} else {
			p.anywhere, p.runs = true, p.runs || n.Runs
		}
		places[name] = p
	}
	return places, endings
})

// longest is the maximum length of a name to look up, in bytes.
const longest = 64

// May reports whether a file or folder with a name can be protected.
func May(name string) bool {
	places, endings := index()
	if len(name) <= longest {
		if _, ok := places[strings.ToLower(name)]; ok {
			return true
		}
	}
	_, ok := ends(name, endings)
	return ok
}

// Is reports whether a file or folder is protected in a folder with the name parent, and whether it
// runs something.
func Is(parent, name string) (protected, runs bool) {
	places, endings := index()
	p := places[strings.ToLower(name)]
	if end, ok := ends(name, endings); ok {
		p.anywhere, p.runs = true, p.runs || end.Runs
	}
	for _, folder := range p.within {
		protected = protected || strings.EqualFold(folder, parent)
	}
	return protected || p.anywhere, p.runs
}

func ends(name string, endings []Name) (Name, bool) {
	for _, n := range endings {
		if at := len(name) - len(n.Text); at >= 0 && strings.EqualFold(name[at:], n.Text) {
			return n, true
		}
	}
	return Name{}, false
}
