package gitrepo

import (
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Folders in which git keeps an unfinished rebase, and an unfinished cherry-pick or revert.
const (
	rebaseFolder = "rebase-merge"
	pickFolder   = "sequencer"
)

// Resumes returns the programs that git runs to continue a rebase, a cherry-pick or a revert in the
// git directory root. The keys are the names of the files with the instructions. If a link replaces
// a directory, or a file cannot be read, the text begins with a NUL character.
func Resumes(root *os.Root) map[string]string {
	runs := map[string]string{}
	for _, name := range []string{rebaseFolder, pickFolder} {
		if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			runs[name] = "\x00it is a link"
		}
	}
	for name, look := range map[string]func(text string) string{
		path.Join(rebaseFolder, "git-rebase-todo"): execs,
		path.Join(rebaseFolder, "strategy"):        strategy,
		path.Join(pickFolder, "opts"):              strategyOption,
	} {
		if _, err := root.Lstat(name); err != nil {
			continue
		}
		text, err := safefile.ReadIn(root, name, safefile.Settings)
		if err != nil {
			runs[name] = "\x00" + err.Error()
		} else if found := look(string(text)); found != "" {
			runs[name] = found
		}
	}
	return runs
}

// execs lists the programs run by a rebase list.
func execs(list string) string {
	var runs []string
	for line := range strings.Lines(list) {
		verb, program, _ := strings.Cut(strings.TrimLeft(line, " \t"), " ")
		if verb == "x" || verb == "exec" || strings.HasPrefix(verb, "exec\t") || strings.HasPrefix(verb, "x\t") {
			runs = append(runs, strings.TrimSpace(program+strings.TrimPrefix(strings.TrimPrefix(verb, "exec"), "x")))
		}
	}
	return strings.Join(runs, "\n")
}

// strategy returns the program of a merge strategy. Git runs git-merge-NAME, from the working
// folder if the name has a slash.
func strategy(name string) string {
	if name = strings.TrimRight(name, "\r\n"); strings.Contains(name, "/") {
		return "git-merge-" + name
	}
	return ""
}

// strategyOption returns options with a strategy for which strategy returns a program. A backslash
// may stand for another character.
func strategyOption(options string) string {
	if strings.Contains(strings.ToLower(options), "strategy") && strings.ContainsAny(options, "/\\") {
		return strings.TrimSpace(options)
	}
	return ""
}
