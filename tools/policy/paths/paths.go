// Package paths judges the paths that a command or a tool writes: files that configure or run
// something, devices, system and user directories.
package paths

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// Marks replace unknown parts of a text. A source cannot contain them: NUL and control characters
// there become unknown.
const (
	Unknown = "\x00" // any text at all
	Fresh   = "\x01" // the path of a new file from mktemp
	Number  = "\x02" // a number, such as $! or $?, or a name of git's, which is no option either
)

// Marked reports whether parts of a text are not known.
func Marked(text string) bool { return strings.ContainsAny(text, Unknown+Fresh+Number) }

// Visible writes unknown parts as "$…".
func Visible(s string) string {
	return escape.Line(strings.NewReplacer(Unknown, "$…", Fresh, "$…", Number, "$…").Replace(s))
}

// Places are the folders of a session. Its paths are absolute.
type Places struct {
	Roots      []string // the workspace's folders
	Temp       []string // the session's own directories for temporary files
	Home       string   // of the user
	HermesHome string   // our own configuration
	Resolve    func(path string) string
	// Importer returns the instructions with an import of an absolute path, or "". It may be nil.
	Importer func(path string) string
}

// Access is the verdict on writing a path. Without a reason, it is allowed.
type Access struct {
	Blocked  bool // else it requires approval
	Reason   string
	Settings bool // the file configures or runs something
}

// Write judges writing to an absolute path and to its link target. Links of standard streams do not
// count: they belong to the command, not to the server.
func (p Places) Write(name string) Access {
	a := p.Classify(name)
	if p.Resolve != nil && !p.OwnTemp(name) && !a.Blocked && !Marked(name) && !Under(Clean(name), "/dev") {
		if b := p.Classify(p.Resolve(name)); b.Blocked || a.Reason == "" || b.Settings {
			return b
		}
	}
	return a
}

// Classify judges the writing of an absolute path itself.
func (p Places) Classify(name string) Access {
	if strings.HasPrefix(name, Fresh) {
		return Access{}
	}
	name = Clean(name)
	if a, ok := ruled("DEVICE", name); ok {
		return a
	}
	folded := Fold(name)
	for _, home := range []string{p.HermesHome, path.Join(Slashes(p.Home), ".hermes")} {
		if home = Fold(Clean(home)); path.IsAbs(home) && Under(folded, home) {
			if a, ok := ruled("HERMES_HOME", strings.TrimPrefix(folded, home)); ok {
				return a
			}
		}
	}
	for _, kind := range []string{"OWN", "GIT"} {
		if a, ok := ruled(kind, folded); ok {
			return a
		}
	}
	if a := special(p.within(folded)); a.Reason != "" {
		return a
	}
	if a := p.imported(name); a.Reason != "" {
		return a
	}
	switch {
	case strings.HasPrefix(name, Unknown):
		return Access{Reason: "writes to a place that cannot be seen"}
	case Under(folded, "/etc"), Under(folded, "/private/etc"):
		return Access{Reason: "writes to /etc"}
	case !p.Inside(name) && !p.OwnTemp(name):
		return Access{Reason: "writes outside the workspace"}
	}
	return Access{}
}

// imported judges writing a file imported by instructions.
func (p Places) imported(name string) Access {
	if p.Importer == nil || Marked(name) || !p.Inside(name) {
		return Access{}
	}
	if from := p.Importer(name); from != "" {
		return Access{false, "changes what agents obey or run (imported by " + Visible(path.Base(Slashes(from))) + ")", true}
	}
	return Access{}
}

// ruled judges a path by the first matching rule of a program in the rule files.
func ruled(program, name string) (a Access, ok bool) {
	for _, r := range rules.Of(program).Rules {
		if r.When[0][0].Test.MatchString(name) {
			return Access{r.Action == "blocks", r.Reason, program == "GIT"}, true
		}
	}
	return Access{}, false
}

// Inside reports whether an absolute path is in a workspace folder.
func (p Places) Inside(name string) bool {
	return slices.ContainsFunc(p.Roots, func(root string) bool { return Under(name, Clean(root)) })
}

// OwnTemp reports whether an absolute path is in the session's own temporary files, but not in a
// workspace folder below them.
func (p Places) OwnTemp(name string) bool {
	name = Clean(name)
	return slices.ContainsFunc(p.Temp, func(dir string) bool { return Under(name, dir) }) && !p.Inside(name)
}

// special judges paths that configure or run something wherever they are.
func special(folded string) Access {
	parts := strings.Split(folded, "/")
	for i, part := range parts {
		within := strings.Join(parts[max(0, i-1):i+1], "/")
		reason := FolderReason(parts, i)
		if i == len(parts)-1 && reason == "" { // a file
			reason = cmp.Or(rules.Reason("protected-path", part), rules.Reason("protected-path", within))
			for ending, why := range rules.List("protected-ending") {
				if strings.HasSuffix(part, ending) {
					reason = why
				}
			}
		}
		if reason != "" {
			return Access{false, reason + " (" + Visible(part) + ")", true}
		}
	}
	return Access{}
}

// FolderReason returns why the folder at position i of a folded path is protected. If it is not, the
// reason is empty.
func FolderReason(parts []string, i int) string {
	if i+1 < len(parts) && rules.In("protected-passes", parts[i]+"/"+parts[i+1]) {
		return ""
	}
	return cmp.Or(rules.Reason("protected-folder", parts[i]), rules.Reason("protected-folder", strings.Join(parts[max(0, i-1):i+1], "/")))
}

// within removes the directories around the outermost workspace folder from a folded path, except
// the last two: a workspace in an agent's directory, such as a worktree, is not a setting of this
// agent.
func (p Places) within(folded string) string {
	around := ""
	for _, root := range p.Roots {
		if root = Fold(Clean(root)); Under(folded, root) && (around == "" || len(root) < len(around)) {
			around = root
		}
	}
	if around == "" {
		return folded
	}
	return strings.TrimPrefix(folded, strings.TrimSuffix(path.Dir(path.Dir(around)), "/"))
}

// Matches judges a pattern that may stand for a protected file. Only a pattern with a leading dot
// matches names with a leading dot.
func Matches(pattern string) Access {
	for part := range strings.SplitSeq(pattern, "/") {
		if !strings.ContainsAny(part, "*?[") {
			continue
		}
		names := []string{"AGENTS.md", "CLAUDE.md"}
		if part[0] == '.' || part[0] == '[' {
			names = slices.Concat(names, []string{".git", ".hermes"}, slices.Sorted(maps.Keys(rules.List("protected-folder"))), slices.Sorted(maps.Keys(rules.List("protected-path"))))
		}
		for _, name := range names {
			exact, _ := path.Match(part, name)
			folded, _ := path.Match(strings.ToLower(part), name)
			if exact || folded && name[0] == '.' {
				return Access{false, "may change " + name + ", which the pattern matches", true}
			}
		}
	}
	return Access{}
}

// Protects returns why an absolute path must not be deleted or replaced. If it may be, it returns
// "".
//
// If deep is set, everything below goes as well, so a directory within a system directory counts as
// a system directory.
func (p Places) Protects(name string, deep bool) string {
	name = Clean(name)
	target := name
	// A pattern that matches a whole directory counts as the directory.
	for strings.Contains(path.Base(target), "*") && strings.Trim(path.Base(target), "*.?[]!") == "" && target != "/" {
		target = path.Dir(target)
	}
	folded := Fold(target)
	if deep {
		folded += "/"
	}
	switch {
	case target == "/":
		return "deletes the root of the file system"
	case p.Home != "" && Under(Clean(p.Home), target):
		return "deletes the home folder"
	case p.Inside(target), target != name && (target == "/tmp" || target == "/var/tmp"):
		return ""
	}
	a, _ := ruled("FOLDER", folded)
	return a.Reason
}

func Under(name, folder string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, "/"))
	return ok && folder != "" && (rest == "" || rest[0] == '/')
}

var (
	ignored   = lazyregexp.New(`[\x{AD}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{206F}\x{FEFF}]`)
	ending    = lazyregexp.New(`::?\$[^/]*`)
	dots      = lazyregexp.New(`([^/. ])[. ]+(/|$)`)
	shortName = lazyregexp.New(`(^|/)git~[^/](/|$)`)
)

// Fold returns a path in the form that file systems may treat as equal: lower case, without dots
// and spaces at the end of a name, without characters ignored by HFS, NTFS streams and short names
// undone.
func Fold(name string) string {
	name = strings.ReplaceAll(strings.ToLower(Slashes(name)), "ſ", "s")
	name = ending.ReplaceAllString(ignored.ReplaceAllString(name, ""), "")
	return path.Clean(shortName.ReplaceAllString(dots.ReplaceAllString(name, "$1$2"), "$1.git$2"))
}

// Slashes writes a path with slashes.
func Slashes(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// Clean writes a path in its shortest form, with slashes.
func Clean(name string) string { return path.Clean(Slashes(name)) }

// OfSystem reports whether only an administrator writes to a path.
func OfSystem(name string) bool {
	_, ok := ruled("SYSTEM", name)
	return ok && !Under(name, "/usr/local")
}
