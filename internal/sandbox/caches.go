package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// cache is a tool's, which is made when the tool is there.
type cache struct{ path, program string }

// caches in a home: what is downloaded or built, and not what is run from PATH or
// read as settings, which a command could leave for the next shell to run.
var caches = []cache{
	{".cache", ""}, {"Library/Caches", "sw_vers"},
	{"go/pkg", "go"}, {".npm", "npm"}, {".cargo/registry", "cargo"}, {".cargo/git", "cargo"},
	{".local/share/pnpm/store", "pnpm"}, {".yarn/berry", "yarn"}, {".bun/install/cache", "bun"},
	{".local/share/uv", "uv"}, {".local/share/virtualenvs", "pipenv"}, {".local/share/hatch", "hatch"},
	{".conda/pkgs", "conda"}, {".m2/repository", "mvn"}, {".gradle/caches", "gradle"}, {".gradle/wrapper", "gradle"},
	{".gradle/daemon", "gradle"}, {".gradle/native", "gradle"}, {".nuget/packages", "dotnet"},
	{".local/share/NuGet", "dotnet"}, {".ccache", "ccache"}, {".bundle/cache", "bundle"}, {".composer/cache", "composer"},
	{".hex/packages", "mix"}, {".cabal/packages", "cabal"}, {".stack/pantry", "stack"},
}

// cacheVariables name caches that a user keeps elsewhere.
var cacheVariables = []cache{
	{"XDG_CACHE_HOME", ""}, {"GOCACHE", ""}, {"GOMODCACHE", ""}, {"GOPATH", "pkg"}, {"CARGO_HOME", "registry"},
	{"CARGO_HOME", "git"}, {"npm_config_cache", ""}, {"PIP_CACHE_DIR", ""}, {"UV_CACHE_DIR", ""}, {"GRADLE_USER_HOME", "caches"},
	{"CCACHE_DIR", ""}, {"POETRY_CACHE_DIR", ""}, {"YARN_CACHE_FOLDER", ""},
}

// writableCaches lists the tools' caches, and makes those of tools that are there, since
// a command cannot: the home around them is read-only for it. made are the folders that
// were missing, outermost first.
func writableCaches(home string, environ []string) (paths, made []string) {
	for _, c := range caches {
		path := filepath.Join(home, c.path)
		if _, err := os.Lstat(path); err != nil {
			if _, missing := exec.LookPath(c.program); c.program != "" && missing != nil {
				continue
			}
			made = append(made, makeFolders(path)...)
		}
		paths = append(paths, path)
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		for _, c := range cacheVariables {
			if name == c.path && filepath.IsAbs(value) && filepath.Clean(value) != "/" && filepath.Clean(value) != home {
				paths = append(paths, filepath.Join(value, c.program))
			}
		}
	}
	return existing(paths), made
}

// makeFolders makes a folder and what is missing around it, and lists what it made.
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

// removeUnused removes those folders that are still empty, so that a home is not left
// with the caches of tools that nobody used.
func removeUnused(made []string) {
	for _, path := range slices.Backward(made) {
		os.Remove(path) //nolint:errcheck // it is in use then
	}
}
