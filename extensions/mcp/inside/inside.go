// Package inside finds out whether the program of a server runs files of the workspace.
package inside

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folderOptions are the options for a directory of code to run, by program. Programs not listed,
// such as the servers themselves, get directories only as data.
var folderOptions = map[string]string{
	"env": "-C --chdir", "uv": "--directory --project --with-editable --from", "uvx": "--directory --from --with-editable", "pipx": "--spec",
	"npm": "-C --prefix", "npx": "-C --prefix", "pnpm": "-C --dir", "yarn": "--cwd", "bun": "--cwd", "bunx": "--cwd", "deno": "",
	"poetry": "-C --directory -P --project", "pdm": "-p --project", "hatch": "", "go": "-C", "make": "-C --directory", "cargo": "-C --manifest-path", "dotnet": "--project", "node": "", "python": "",
}

// subcommands are words before the options or the directory of the executed program.
const subcommands = " run exec x start tool dlx serve "

// loading are variables from which a server's program loads files.
const loading = " PATH PYTHONPATH PYTHONHOME VIRTUAL_ENV NODE_PATH NODE_OPTIONS LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV PERL5LIB PERL5OPT RUBYLIB RUBYOPT GEM_PATH CLASSPATH JAVA_TOOL_OPTIONS UV_PROJECT UV_WORKING_DIRECTORY npm_config_prefix "

// anywhere are programs with options also after the package name.
const anywhere = " npm pnpm yarn make cargo dotnet "

// Enters reports whether a command line makes a program run or load files of a workspace
// folder, although no argument names such a file.
func Enters(program string, args []string, env, roots []string) bool {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if strings.Contains(loading, " "+name+" ") && mentions(value, roots) {
			return true
		}
	}
	for _, arg := range args {
		if strings.ContainsAny(arg, " \t\n;('\"") && mentions(arg, roots) { // code, such as the argument of sh -c
			return true
		}
	}
	name := strings.TrimRight(strings.TrimSuffix(filepath.Base(program), ".exe"), "0123456789.")
	options, launches := folderOptions[name]
	if !launches {
		return false
	}
	known, named := strings.Fields(options), false
	for i := 0; i < len(args); i++ {
		option, value, joined := strings.Cut(args[i], "=")
		switch {
		case option == "--" && named:
			return false
		case slices.Contains(known, option):
			if i++; !joined && i < len(args) {
				value = args[i]
			}
			if mentions(value, roots) || Within(value, roots) {
				return true
			}
		case strings.HasPrefix(option, "-C") && slices.Contains(known, "-C") && Within(option[2:], roots):
			return true
		case strings.HasPrefix(option, "-"), strings.Contains(subcommands, " "+option+" "):
		case !named && Within(args[i], roots):
			return true
		case i > 0 && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "="): // possibly the value of an option
		case strings.Contains(anywhere, " "+name+" "):
			named = true
		default:
			return false // the executed package or file; later arguments belong to it
		}
	}
	return false
}

// mentions reports whether a text contains the path of a workspace folder or of a file in it. The
// text may be code or a list of paths. It compares paths by their components.
func mentions(text string, roots []string) bool {
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(root)
		if names(text, filepath.Clean(root), roots) || err == nil && names(text, real, roots) {
			return true
		}
	}
	// A path may reach the workspace folder in another way, such as by a link.
	return slices.ContainsFunc(strings.FieldsFunc(text, separates), func(word string) bool {
		return filepath.IsAbs(word) && Within(existing(word), roots)
	})
}

// names reports whether a text contains the path folder, alone or at the start of a longer path.
// The path may contain characters that end other paths, such as spaces.
func names(text, folder string, roots []string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], folder)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(folder)
		before := text[strings.LastIndexFunc(text[:start], separates)+1 : start]
		after := text[end:]
		if k := strings.IndexFunc(after, separates); k >= 0 {
			after = after[:k]
		}
		if Within(existing(before+folder+after), roots) {
			return true
		}
		from = start + 1
	}
}

// existing returns the longest existing start of a path. If there is none, it returns the path.
func existing(path string) string {
	for part := path; len(part) > 1; part = filepath.Dir(part) {
		if _, err := os.Lstat(part); err == nil {
			return part
		}
		if part == filepath.Dir(part) {
			break
		}
	}
	return path
}

// separates reports whether a character ends a path in code or in a list.
func separates(r rune) bool { return strings.ContainsRune(" \t\n\r\"'`=:;,()[]{}<>|&$!?*#%", r) }

// Within reports whether a path is in a workspace folder, literally or with its links resolved.
func Within(path string, roots []string) bool {
	paths := []string{filepath.Clean(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		paths = append(paths, real)
	}
	for _, root := range roots {
		folders := []string{filepath.Clean(root)}
		if real, err := filepath.EvalSymlinks(root); err == nil {
			folders = append(folders, real)
		}
		for _, folder := range folders {
			for _, p := range paths {
				if rel, err := filepath.Rel(folder, p); err == nil && filepath.IsLocal(rel) {
					return true
				}
			}
		}
	}
	return false
}
