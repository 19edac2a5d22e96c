// Package paths judges the places that a command or a tool writes: files that configure or run
// something, devices, folders of the system and of the user.
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

// Marks stand in a text for parts that cannot be known. They cannot come from a source: NUL and
// control characters there become unknown.
const (
	Unknown = "\x00" // any text at all
	Fresh   = "\x01" // the path of a file that mktemp has just made
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
	Temp       []string // folders for temporary files that are the session's own
	Home       string   // of the user
	HermesHome string   // our own configuration
	Resolve    func(path string) string
}

// Access is a judgement of the writing of one path. Without a reason, it is allowed.
type Access struct {
	Blocked  bool // else it requires approval
	Reason   string
	Settings bool // it configures or runs something by itself
}

// Write judges the writing of an absolute path, and of the path that its links lead to.
// Those of streams do not count: they are the command's own, and not those of the server.
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

// ruled judges a path by the first rule of a program in the rule files that matches it.
func ruled(program, name string) (a Access, ok bool) {
	for _, r := range rules.Of(program).Rules {
		if r.When[0][0].Test.MatchString(name) {
			return Access{r.Action == "blocks", r.Reason, program == "GIT"}, true
		}
	}
	return Access{}, false
}

// Inside tells whether an absolute path lies in one of the workspace's folders.
func (p Places) Inside(name string) bool {
	return slices.ContainsFunc(p.Roots, func(root string) bool { return Under(name, Clean(root)) })
}

// OwnTemp tells whether an absolute path lies in the session's own temporary files,
// and not in a workspace's folder below them.
func (p Places) OwnTemp(name string) bool {
	name = Clean(name)
	return slices.ContainsFunc(p.Temp, func(dir string) bool { return Under(name, dir) }) && !p.Inside(name)
}

// special judges paths that configure or run something wherever they lie.
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

// within cuts the folders around the outermost root off a folded path, but for two: a workspace in
// the folder of an agent, such as a worktree, is no setting of that agent.
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

// Matches judges a pattern that may stand for a file that asks. Only a pattern that begins
// with a dot matches names that do.
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

// Protects returns why an absolute path must not be deleted or replaced. If it may be, it
// returns "".
//
// deep tells that all below it goes as well, so that a folder within a system
// folder counts as one.
func (p Places) Protects(name string, deep bool) string {
	name = Clean(name)
	target := name
	// A pattern that matches all of a folder counts as the folder.
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

// Fold writes a path in the one spelling that file systems may take it for:
// lower case, without dots and spaces at the end of a name, without characters
// that HFS ignores, NTFS streams and short names undone.
func Fold(name string) string {
	name = strings.ReplaceAll(strings.ToLower(Slashes(name)), "ſ", "s")
	name = ending.ReplaceAllString(ignored.ReplaceAllString(name, ""), "")
	return path.Clean(shortName.ReplaceAllString(dots.ReplaceAllString(name, "$1$2"), "$1.git$2"))
}

// Slashes writes a path with slashes.
func Slashes(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// Clean writes a path in its shortest form, with slashes.
func Clean(name string) string { return path.Clean(Slashes(name)) }

// OfSystem tells whether a path lies where only an administrator writes.
func OfSystem(name string) bool {
	_, ok := ruled("SYSTEM", name)
	return ok && !Under(name, "/usr/local")
}
