// Package policy judges an action of the model before it runs: a shell command, Python code, a path
// to write. It parses commands and does not search text. An unresolved command requires approval. A
// command with a syntax error is blocked.
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

// Level determines whether an action runs, requires approval, or is blocked.
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
	// Text is Markdown shown whole with the request, such as a diff. It may be empty.
	Text string
	// Syntax is set if only the syntax is wrong: the error, with its position.
	// The level is Refused then, as the command cannot run at all.
	Syntax string
	// Keys are the subjects of a remembered approval, such as "rm -rf build". All of them must be
	// approved. Empty unless Asks. They contain no control characters.
	Keys []string
	// EveryMode is set if the action changes files that configure or run something, such as
	// .vscode. It requires approval even if approvals are off.
	EveryMode bool
	// Commands are all visible simple commands, normalized: quoting undone, constants filled in,
	// nested commands included, and "write PATH" for each visible write. Deny rules match them.
	Commands []string
	// Files are the files, absolute, whose content the command runs, such as scripts and
	// Makefiles. They need not exist, and may be patterns.
	Files []string
	// KeyFiles lists, by key, the Files covered by an approval of the key.
	KeyFiles map[string][]string
	// Once is set if an approval cannot be remembered: a key covers an executed file without a
	// known name, such as the results of find.
	Once bool
	// Rewrites is set if the line changes unnamed workspace files, as git reset does, before or
	// while it runs others.
	Rewrites bool
	// Opens are the protected places, absolute, written by this command line itself, such as
	// .vscode. It is empty if the line runs other code: nothing is opened for a script beside them.
	Opens []string
	// Settings are the git settings made by the command line itself, as "name=value".
	Settings []string
}

// Scope is the place where a command would run, with the files and variables there.
type Scope struct {
	Cwd        string            // absolute
	Roots      []string          // the workspace folders, absolute; the first is the main folder
	Home       string            // the home folder of the user
	HermesHome string            // our own configuration; empty: ~/.hermes
	Temp       []string          // the session's own directories for temporary files; none: they are shared
	Env        map[string]string // variables known to be set, such as the session's exports; may be nil
	// Resolve follows the symbolic links of an absolute path, of which the end
	// need not exist. Nil: paths are taken as they are written.
	Resolve func(path string) string
	// Importer returns the instructions with an import of an absolute path, or "". It may be nil.
	Importer func(path string) string
	// Read returns the content of an executed file, such as a Makefile. Nil, or false: it is not
	// read.
	Read func(path string) (string, bool)
	// Repository returns the git directories, absolute, that git uses for dir: for a worktree its
	// own and the common directory. Nil: it is dir's .git.
	Repository func(dir string) []string
}

// maxSource is the longest command or code to judge, in bytes.
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

// Write judges writing a file. The path is absolute, with its links resolved as far as possible;
// roots are the workspace folders and hermesHome is our own configuration. If importer is not nil, it
// returns the instructions with an import of a path, or "".
func Write(name string, roots []string, hermesHome string, importer func(path string) string) Verdict {
	key := "write " + escape.Line(name)
	a := paths.Places{Roots: roots, HermesHome: hermesHome, Importer: importer}.Write(name)
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
	return paths.Places{Roots: p.Roots, Temp: p.Temp, Home: p.Home, HermesHome: p.HermesHome, Resolve: p.Resolve, Importer: p.Importer}
}

// unparsed begins the reason for a command with a syntax error.
const unparsed = "does not parse"

// verdict summarizes the findings: the worst level, with the reasons and keys of that level in
// order.
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
