package gitguard

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/protected"
)

// inRepository lists names in a git folder used by other programs: lazygit's settings, and the
// folder safe, with which some users' shells add the repository's bin to PATH.
var inRepository = []string{"lazygit.yml", "safe"}

// interesting reports whether a walk records an entry with the name.
func interesting(name string) bool { return protected.May(name) }

// settingsPlace reports whether a path is a place with settings or programs, and whether it takes
// effect automatically. Such a place in a root is read-only. The user is asked about changes of
// other and new places: repositories change them all the time.
func settingsPlace(path string) (place, byItself bool) {
	return protected.Is(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

// inPlace reports whether a path lies in such a place below a root, which counts as a whole. The
// folder of hermes-ls in a root does not.
func inPlace(path, root string) bool {
	for dir := filepath.Dir(path); len(dir) > len(root); dir = filepath.Dir(dir) {
		if is, _ := settingsPlace(dir); is && dir != filepath.Join(root, ".hermes") {
			return true
		}
	}
	return false
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
