// Package policy judges an action of the model before it runs: a shell command,
// Python code, a path to write. It parses commands and does not search text. A command
// that it cannot resolve requires approval. A command that does not parse is blocked.
//
// It is advisory and catches mistakes. The boundaries are the path scope and the sandbox.
// It runs nothing and holds no state: all functions are safe for concurrent use.
// The files in rules list programs and their options.
package policy

import (
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/tools/policy/code"
	"github.com/hermes-ls/hermes-ls/tools/policy/paths"
)

// Level says whether an action runs, requires approval, or is blocked.
type Level int

const (
	Runs    Level = iota // without approval
	Asks                 // the user decides
	Blocked              // policy forbids it; it cannot be approved
)

func (l Level) String() string {
	return [...]string{"runs", "asks", "blocked"}[l]
}

// Verdict is a level with its reason.
type Verdict struct {
	Level  Level
	Reason string // for the user and the model: the effect, such as "deletes files recursively"
	// Text is Markdown that is shown whole with the request, such as a diff. It may be empty.
	Text string
	// Syntax is set if only the syntax is wrong: the error, with its position.
	// The level is Refused then, as the command cannot run at all.
	Syntax string
	// Keys are the subjects that a remembered approval covers, such as "rm -rf build". All of
	// them must have been approved. Empty unless Asks.
	// They hold no control characters.
	Keys []string
	// EveryMode is set if the action changes files that configure or run something by
	// themselves, such as .vscode. It requires approval also if approvals are off.
	EveryMode bool
	// Commands are all simple commands that were seen, normalised: quoting undone,
	// constants filled in, also those within others, and "write PATH" for each file
	// that they are seen to write. Deny rules match them.
	Commands []string
	// Files are the files, absolute, whose content the command runs, such as scripts and
	// Makefiles. They need not exist, and may be patterns.
	Files []string
	// KeyFiles are, by key, those of Files that an approval of the key covers.
	KeyFiles map[string][]string
	// Once is set if an approval cannot be remembered: a key covers a file that is run and
	// cannot be named, such as those that find finds.
	Once bool
	// Rewrites is set if the line changes files of the workspace that are not in it, such
	// as git reset, before or while it runs others.
	Rewrites bool
	// Opens are the protected places, absolute, that this command line itself writes,
	// such as .vscode. It is empty if the line runs any code that is not in it: nothing
	// is opened for a script beside them.
	Opens []string
	// Settings are the git settings that the command line itself makes, as "name=value".
	Settings []string
}

// Scope is the place where a command would run, with the files and variables there.
type Scope struct {
	Cwd        string            // absolute
	Roots      []string          // the workspace's folders, absolute; the first is the main one
	Home       string            // the home folder of the user
	HermesHome string            // our own configuration; empty: ~/.hermes
	Temp       []string          // folders for temporary files that are the session's own; none: they are shared
	Env        map[string]string // variables that are known to be set, such as the session's exports; may be nil
	// Resolve follows the symbolic links of an absolute path, of which the end
	// need not exist. Nil: paths are taken as they are written.
	Resolve func(path string) string
	// Read returns the content of a file that is run, such as a Makefile. Nil, or false:
	// it is not looked at.
	Read func(path string) (string, bool)
	// Repository returns the git folders, absolute, that git uses in a folder: of a
	// worktree its own and the common one. Nil: it is .git in the folder.
	Repository func(dir string) []string
}

// maxSource is the longest command or code that is judged at all, in bytes.
const maxSource = 64 << 10

// Command judges a command for bash, as it would run in a scope.
func Command(src string, p Scope) Verdict {
	j := newAnalyzer(src, p)
	j.line(j.start())
	v := j.verdict()
	if v.Level == Asks {
		v.Files = followed(v.Files, p)
		for key, files := range v.KeyFiles {
			v.KeyFiles[key] = followed(files, p)
		}
	}
	return v
}

// Python judges a piece of Python as it would run in a scope.
func Python(src string, p Scope) Verdict {
	j := newAnalyzer(src, p)
	c := &call{name: "python3", st: j.start()}
	j.rememberAs = escape.Line(src)
	if len(src) > maxSource {
		j.block(c, "is longer than 64 KB")
	} else {
		code.Read("python", src, p.Home, (&terms{j: j, c: c}).act)
	}
	return j.verdict()
}

// Write judges the writing of one file. The path is absolute, its links already
// resolved as far as they could be; roots are the workspace's folders and
// hermesHome is our own configuration.
func Write(name string, roots []string, hermesHome string) Verdict {
	key := "write " + escape.Line(name)
	a := paths.Places{Roots: roots, HermesHome: hermesHome}.Write(name)
	v := Verdict{Commands: []string{key}, Reason: a.Reason, EveryMode: a.Settings}
	if v.Level = levelOf(a); v.Level == Asks {
		v.Keys = []string{key}
	}
	return v
}

func levelOf(a paths.Access) Level {
	switch {
	case a.Blocked:
		return Blocked
	case a.Reason != "":
		return Asks
	}
	return Runs
}

func (p Scope) places() paths.Places {
	return paths.Places{Roots: p.Roots, Temp: p.Temp, Home: p.Home, HermesHome: p.HermesHome, Resolve: p.Resolve}
}

// unparsed begins the reason of a command that does not parse.
const unparsed = "does not parse"

// verdict sums the findings up: the worst level, with the reasons and keys of
// that level in the order they were met.
func (j *tracks) verdict() Verdict {
	v := Verdict{Commands: j.commands, Files: j.runFiles, Rewrites: j.rewrites, Opens: j.opened(), Settings: j.settings}
	for _, f := range j.findings {
		v.Level = max(v.Level, f.level)
	}
	var reasons []string
	for _, f := range j.findings {
		if f.level == v.Level {
			v.EveryMode = v.EveryMode || f.settings
			reasons = union(reasons, []string{f.reason})
			v.Keys = union(v.Keys, []string{f.key})
		}
	}
	if len(reasons) == 0 {
		return v
	}
	if v.Level == Blocked {
		v.Keys = nil
	}
	j.bind(&v)
	v.Reason = strings.Join(reasons, "; ")
	if !slices.ContainsFunc(reasons, func(r string) bool { return !strings.HasPrefix(r, unparsed) }) {
		_, v.Syntax, _ = strings.Cut(reasons[0], ": ")
	}
	return v
}
