package gitguard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// Opening is an exception of the sandbox for one command. The zero Opening is none.
type Opening struct {
	// Open lists absolute paths that the command may write. Each is a protected place or lies in a
	// protected place; it need not exist.
	Open []string
	// Frozen is the content of files for the command, by absolute path, as judged. The files must
	// exist. Without mounts, as with Landlock, it has no effect.
	Frozen map[string][]byte
	// Settings are the git settings shown to the user and approved, as "name=value". The command
	// may leave them in an open configuration.
	Settings []string

	// Git is set if the command line runs git and nothing else. Its changes of files for agents and
	// tools need no approval: they come from a repository. If other programs run meanwhile, or if git
	// has a hook to run, they do.
	Git bool
	// Writes are absolute paths of files in the command line's analysis. The write was judged
	// before the start.
	Writes []string
}

// approves reports whether the user was shown a git setting and has approved it.
func (o Opening) approves(s setting) bool {
	name := strings.ToLower(s.name)
	return slices.ContainsFunc(o.Settings, func(shown string) bool {
		n, value, _ := strings.Cut(shown, "=")
		return strings.ToLower(n) == name && value == s.value
	})
}

// opens reports whether the command may write a protected place, or something in it.
func (o Opening) opens(place string) bool {
	return slices.ContainsFunc(o.Open, func(path string) bool { return fspath.Under(path, place) || fspath.Under(place, path) })
}

// openIn returns the entries of a protected folder that stay read-only: all entries the command
// does not open. If the whole place is open, it returns nil.
func (o Opening) openIn(place string) (readOnly []string) {
	if slices.ContainsFunc(o.Open, func(path string) bool { return fspath.Under(place, path) }) {
		return nil
	}
	entries, _ := os.ReadDir(place)
	for _, e := range entries {
		path := filepath.Join(place, e.Name())
		switch {
		case !o.opens(path):
			readOnly = append(readOnly, path)
		case e.IsDir():
			readOnly = append(readOnly, o.openIn(path)...)
		}
	}
	return readOnly
}
