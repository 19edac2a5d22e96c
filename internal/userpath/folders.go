// Package userpath finds the programs available in the user's terminals. If the desktop has started
// the editor, its PATH lacks the folders added by the profile of a shell. [Login] asks the user's
// login shell for them once, and [ToolFolders] lists existing folders of installers.
package userpath

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// toolFolders are the directories below the home directory for installed programs. Installers add
// them to PATH in the profile of the user's shell, which an editor started by the desktop never
// reads.
var toolFolders = []string{
	".local/bin", "bin", ".cargo/bin", "go/bin", ".pyenv/shims", ".pyenv/bin", ".rbenv/shims", ".asdf/shims", ".local/share/mise/shims", ".volta/bin", ".bun/bin", ".deno/bin",
	".npm-global/bin", ".local/share/fnm/aliases/default/bin", ".local/share/pnpm", ".poetry/bin", ".dotnet/tools", ".ghcup/bin", ".cabal/bin", ".juliaup/bin", ".krew/bin", ".rd/bin",
}

var machineToolFolders = []string{"/usr/local/bin", "/usr/local/go/bin", "/opt/homebrew/bin", "/opt/homebrew/sbin", "/home/linuxbrew/.linuxbrew/bin", "/snap/bin"}

// ToolFolders returns the existing directories with the user's tools that are missing in env's
// PATH. It runs no profile.
func ToolFolders(env []string) (missing []string) {
	if runtime.GOOS == "windows" {
		return nil
	}
	home, _ := getenv(env, "HOME")
	list, _ := getenv(env, "PATH")
	have := filepath.SplitList(list)
	folders := slices.Clone(machineToolFolders)
	if filepath.IsAbs(home) {
		for _, f := range toolFolders {
			folders = append(folders, filepath.Join(home, f))
		}
		folders = append(folders, nodeFolder(home)...)
	}
	for _, f := range folders {
		if info, err := os.Stat(f); err == nil && info.IsDir() && !slices.Contains(have, f) {
			missing = append(missing, f)
		}
	}
	return missing
}

// nodeFolder returns the directory of nvm's default version of Node. If the default matches no
// installed version, it returns the newest.
func nodeFolder(home string) []string {
	dirs, _ := filepath.Glob(filepath.Join(home, ".nvm/versions/node/v*/bin"))
	if len(dirs) == 0 {
		return nil
	}
	version := func(dir string) string { return strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), "v") }
	slices.SortFunc(dirs, func(a, b string) int { return compareVersions(version(a), version(b)) })
	alias, _ := os.ReadFile(filepath.Join(home, ".nvm/alias/default"))
	wanted := strings.TrimPrefix(strings.TrimSpace(string(alias)), "v")
	for _, dir := range slices.Backward(dirs) {
		if wanted != "" && strings.HasPrefix(version(dir)+".", wanted+".") {
			return []string{dir}
		}
	}
	return dirs[len(dirs)-1:]
}

func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		m, _ := strconv.Atoi(a)
		n, _ := strconv.Atoi(b)
		return cmp.Compare(m, n)
	})
}

// A Finder returns the PATH of programs. If ok is false, it is not complete yet. [Login.Path] is a
// Finder.
type Finder func(ctx context.Context) (path string, ok bool)

// Environ returns env with the PATH of f. If f is nil, it returns env.
func (f Finder) Environ(ctx context.Context, env []string) []string {
	if f == nil {
		return env
	}
	path, _ := f(ctx)
	if path == "" {
		return env
	}
	return With(env, path)
}

// With returns env with another PATH.
func With(env []string, path string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	return append(env, "PATH="+path)
}

// WithToolFolders returns env with the folders of [ToolFolders] at the end of PATH.
func WithToolFolders(env []string) []string {
	missing := ToolFolders(env)
	list, _ := getenv(env, "PATH")
	if len(missing) == 0 || list == "" {
		return env
	}
	return With(env, strings.Join(append([]string{list}, missing...), string(filepath.ListSeparator)))
}

func getenv(env []string, name string) (value string, set bool) {
	for _, kv := range slices.Backward(env) {
		if value, set = strings.CutPrefix(kv, name+"="); set {
			return value, true
		}
	}
	return "", false
}
