package gitguard

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/protected"
)

// runsByItself are names of files and folders that run or configure something as soon as
// a folder is opened in an editor, entered by a shell, or worked in by an agent. If they
// exist in a root, they are read-only there. In its folders a change is asked about.
//
// instructs are names of files that agents obey, or that a tool runs from when the user
// calls it. Repositories change them all the time, so they are not read-only: a command
// that changes one is asked about, unless it is git itself.
//
// inFolder are files that configure a tool in a folder of one of these names, and mean
// nothing elsewhere.
var runsByItself, instructs, inFolder = protectedNames()

func protectedNames() (runs, told []string, inFolder map[string][]string) {
	inFolder = map[string][]string{}
	for _, name := range protected.Names() {
		folder, file, inner := strings.Cut(name.Text, "/")
		switch {
		case name.Runs:
			runs = append(runs, name.Text)
		case name.Reviewed && inner:
			inFolder[file] = append(inFolder[file], folder)
		case name.Reviewed:
			told = append(told, name.Text)
		}
	}
	return runs, told, inFolder
}

// inRepository are names in a git folder that other programs than git run or obey: lazygit's
// settings, and the folder by which shells of some take bin for a folder of their programs.
var inRepository = []string{"lazygit.yml", "safe"}

func selfRunning(name string) bool {
	return slices.Contains(runsByItself, name) || strings.HasSuffix(name, ".code-workspace")
}

// interesting reports whether a walk notes an entry of that name.
func interesting(name string) bool {
	if name == "" {
		return false
	}
	switch name[0] {
	case '.', 'A', 'C', 'G', 'b', 'c', 'h', 'i', 'j', 'l', 'm', 'o', 'r':
	default:
		return strings.HasSuffix(name, ".code-workspace")
	}
	return selfRunning(name) || slices.Contains(instructs, name) || inFolder[name] != nil
}

// settingsPlace reports whether a path is a place that configures something, and whether it
// runs by itself.
func settingsPlace(path string) (place, byItself bool) {
	name := filepath.Base(path)
	if folders := inFolder[name]; folders != nil {
		return slices.Contains(folders, filepath.Base(filepath.Dir(path))), false
	}
	return interesting(name), selfRunning(name)
}

// dependencies are folders with code of others: packages bring their own settings, which
// no editor reads there.
var dependencies = []string{"node_modules", ".venv", "venv", "site-packages", "vendor", "target", ".tox", ".nox", "bower_components", "Pods", ".terraform", ".gradle", ".cache", "dist", "build"}

// inDependencies reports whether a path lies in such a folder below a root.
func inDependencies(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(strings.Split(filepath.Dir(rel), string(filepath.Separator)), func(part string) bool {
		return slices.Contains(dependencies, part)
	})
}
