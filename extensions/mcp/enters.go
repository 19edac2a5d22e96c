package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folderOptions are options by which a program runs what is in a folder, by program. Other
// programs, such as the servers themselves, are given folders to work on.
var folderOptions = map[string]string{
	"env": "-C --chdir", "uv": "--directory --project --with-editable --from", "uvx": "--directory --from --with-editable", "pipx": "--spec",
	"npm": "-C --prefix", "npx": "-C --prefix", "pnpm": "-C --dir", "yarn": "--cwd", "bun": "--cwd", "bunx": "--cwd", "deno": "",
	"poetry": "-C --directory -P --project", "pdm": "-p --project", "hatch": "", "go": "-C", "make": "-C --directory", "cargo": "-C --manifest-path", "dotnet": "--project", "node": "", "python": "",
}

// subcommands stand before the options or the folder of what is run.
const subcommands = " run exec x start tool dlx serve "

// loading are variables of a server by which its program loads files.
const loading = " PATH PYTHONPATH PYTHONHOME VIRTUAL_ENV NODE_PATH NODE_OPTIONS LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES BASH_ENV ENV PERL5LIB PERL5OPT RUBYLIB RUBYOPT GEM_PATH CLASSPATH JAVA_TOOL_OPTIONS UV_PROJECT UV_WORKING_DIRECTORY npm_config_prefix "

// anywhere are programs that take their options behind the name of what is run, too.
const anywhere = " npm pnpm yarn make cargo dotnet "

// enters reports whether a command line makes a program run or load what is in a folder of
// the workspace, although no argument names a file in it.
func enters(program string, args []string, env, roots []string) bool {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if strings.Contains(loading, " "+name+" ") && mentions(value, roots) {
			return true
		}
	}
	for _, arg := range args {
		if strings.ContainsAny(arg, " \t\n;('\"") && mentions(arg, roots) { // code, as of sh -c
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
			if mentions(value, roots) || within(value, roots) {
				return true
			}
		case strings.HasPrefix(option, "-C") && slices.Contains(known, "-C") && within(option[2:], roots):
			return true
		case strings.HasPrefix(option, "-"), strings.Contains(subcommands, " "+option+" "):
		case !named && within(args[i], roots):
			return true
		case i > 0 && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "="): // perhaps the value of an option
		case strings.Contains(anywhere, " "+name+" "):
			named = true
		default:
			return false // what is run; what follows is its own
		}
	}
	return false
}

// mentions reports whether a text, such as code or a list of paths, names a folder of the
// workspace, or something in it. It compares paths by their components.
func mentions(text string, roots []string) bool {
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(root)
		if names(text, filepath.Clean(root), roots) || err == nil && names(text, real, roots) {
			return true
		}
	}
	// A path may name the folder in another way, such as by a link.
	return slices.ContainsFunc(strings.FieldsFunc(text, separates), func(word string) bool {
		return filepath.IsAbs(word) && within(existing(word), roots)
	})
}

// names reports whether a folder, as it is written, occurs in a text as a whole path or as
// the beginning of one. The folder may hold characters that end other paths, such as spaces.
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
		if within(existing(before+folder+after), roots) {
			return true
		}
		from = start + 1
	}
}

// existing returns the part of a path that exists, or the path if none of it does.
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

// separates reports whether a path written in code or in a list ends at a character.
func separates(r rune) bool { return strings.ContainsRune(" \t\n\r\"'`=:;,()[]{}<>|&$!?*#%", r) }
