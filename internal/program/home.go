package program

import (
	"os"
	"path/filepath"
	"strings"
)

// InHome returns a word of a configured command with the user's home for its ~, as a shell has it: at the start, and
// after the = of an option. No shell runs these commands, and no program understands the ~ itself.
func InHome(word string) string {
	if option, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
		return option + "=" + inHome(value)
	}
	return inHome(word)
}

// ListInHome is InHome for the value of a variable, which may be a list of paths such as PATH.
func ListInHome(value string) string {
	if !strings.Contains(value, "~") || strings.Contains(value, "://") {
		return value
	}
	all := filepath.SplitList(value)
	for i, path := range all {
		all[i] = inHome(path)
	}
	return strings.Join(all, string(filepath.ListSeparator))
}

func inHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return home + rest
}
