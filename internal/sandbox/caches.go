package sandbox

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// cacheFolder is a cache of this home.
type cacheFolder struct {
	cache
	named   string // as the tool finds it
	path    string // free of links
	missing bool   // it does not exist; its tool does
}

// cacheFolders lists the caches of a home and of the environment. It leaves out caches inside
// another cache or the workspace. v.mu is held.
func (v *views) cacheFolders(home string, roots []string) (all []cacheFolder) {
	add := func(c cache, named string) {
		f := cacheFolder{cache: c, named: named, path: named}
		info, err := os.Stat(named)
		switch {
		case err == nil && info.IsDir():
			f.path = fspath.Real(named)
		case err == nil || !hideable(home) || !fspath.Under(named, home) || !v.hasProgram(c.program):
			return
		default:
			if _, err := os.Lstat(named); err == nil {
				return // a link to nothing
			}
			f.missing = true
		}
		if f.path == "/" || fspath.Under(home, f.path) {
			return
		}
		for _, root := range roots {
			if fspath.Under(f.path, root) && !fspath.Under(home, root) {
				return
			}
		}
		all = append(all, f)
	}
	for _, c := range caches {
		add(c, filepath.Join(home, c.path))
	}
	for _, c := range cacheVariables {
		if dir := variable(v.environ, c.name, home); filepath.IsAbs(dir) {
			add(cache{programs: c.programs}, filepath.Join(dir, c.within))
		}
	}
	slices.SortStableFunc(all, func(a, b cacheFolder) int { return cmp.Compare(a.path, b.path) })
	var kept []cacheFolder
	for _, f := range all {
		if !slices.ContainsFunc(kept, func(k cacheFolder) bool { return fspath.Under(f.path, k.path) }) {
			kept = append(kept, f)
		}
	}
	return kept
}

// hasProgram reports whether a tool is installed. The empty name is.
func (v *views) hasProgram(name string) bool {
	if name == "" {
		return true
	}
	has, known := v.has[name]
	if !known {
		has = hasProgram(v.environ, name)
		if v.has == nil {
			v.has = map[string]bool{}
		}
		v.has[name] = has
	}
	return has
}

// hasProgram reports whether a program is in PATH of an environment.
func hasProgram(environ []string, name string) bool {
	for _, folder := range filepath.SplitList(cmp.Or(variable(environ, "PATH", ""), os.Getenv("PATH"))) {
		if _, err := exec.LookPath(filepath.Join(folder, name)); filepath.IsAbs(folder) && err == nil {
			return true
		}
	}
	return false
}

// variable returns a variable of the environment, or of the file of "go env -w".
func variable(environ []string, name, home string) string {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok && value != "" {
			return value
		}
	}
	if !strings.HasPrefix(name, "GO") {
		return ""
	}
	text, _ := safefile.Read(filepath.Join(home, ".config/go/env"), safefile.Settings)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// writableCaches lists the tools' caches shared with the user's programs. It makes the missing
// caches of installed tools: a command cannot, since the home is read-only for it. made lists the
// new folders, outermost first.
func writableCaches(home string, environ []string) (paths, made []string) {
	for _, c := range sharedCaches {
		path := filepath.Join(home, c.path)
		if _, err := os.Lstat(path); err != nil {
			if c.program != "" && !hasProgram(environ, c.program) {
				continue
			}
			made = append(made, makeFolders(path)...)
		}
		paths = append(paths, path)
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		for _, c := range cacheVariables {
			if name == c.name && !c.programs && filepath.IsAbs(value) && filepath.Clean(value) != "/" && filepath.Clean(value) != home {
				paths = append(paths, filepath.Join(value, c.within))
			}
		}
	}
	return fspath.Existing(paths), made
}

// makeFolders makes a folder and its missing parents, and lists the new folders.
func makeFolders(path string) (made []string) {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		made = makeFolders(parent)
	}
	if os.Mkdir(path, 0o700) == nil {
		made = append(made, path)
	}
	return made
}

// removeUnused removes folders that are still empty, so a home does not keep the caches of unused
// tools.
func removeUnused(made []string) {
	for _, path := range slices.Backward(made) {
		os.Remove(path) // it is in use then
	}
}
