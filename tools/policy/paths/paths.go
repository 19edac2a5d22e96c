// Package paths judges the places that a command or a tool writes: files that configure or run
// something, devices, folders of the system and of the user.
package paths

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/protected"
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
func (p Places) Write(name string) Access {
	a := p.Classify(name)
	if _, ok := device(Clean(name)); ok {
		return a // streams are the command's own, and not those of the server
	}
	if p.Resolve != nil && !p.OwnTemp(name) && !a.Blocked && !Marked(name) {
		if real := p.Resolve(name); real != name {
			if b := p.Classify(real); b.Blocked || a.Reason == "" || b.Settings {
				return b
			}
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
	if a, ok := device(name); ok {
		return a
	}
	folded := Fold(name)
	if p.isOwnState(folded) {
		return Access{Blocked: true, Reason: "changes the configuration of hermes-ls"}
	}
	if a := special(folded); a.Reason != "" {
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

// isOwnState tells whether a folded path is our own configuration or state.
func (p Places) isOwnState(folded string) bool {
	for _, home := range []string{p.HermesHome, path.Join(Slashes(p.Home), ".hermes")} {
		rest, ok := strings.CutPrefix(folded+"/", Fold(Clean(home))+"/")
		first, _, _ := strings.Cut(rest, "/")
		if ok && path.IsAbs(Slashes(home)) && (first == "" || strings.HasPrefix(first, "hermes-ls.db") || slices.ContainsFunc(ownFiles, func(name string) bool { return strings.HasPrefix(rest, name) })) {
			return true
		}
	}
	return slices.ContainsFunc(ownFiles, func(name string) bool { return strings.Contains(folded+"/", "/.hermes/"+name) })
}

// ownFiles are the beginnings of paths below $HERMES_HOME, with a slash at the end, that hold settings, keys, or what the
// user has approved. They need not exist.
var ownFiles = []string{"config.yaml/", ".env/", "trust.json", "mcp-auth/", "plugins/.grants.json"}

// special judges paths that configure or run something wherever they lie.
func special(folded string) Access {
	parts := strings.Split(folded, "/")
	for i, part := range parts {
		if part == ".git" {
			return inGit(parts[i+1:])
		}
		if reason := rules.Reason("protected-folder", part); reason != "" {
			return Access{false, reason + " (" + Visible(part) + ")", true}
		}
	}
	last := parts[len(parts)-1]
	reason := cmp.Or(rules.Reason("protected-path", last), rules.Reason("protected-path", strings.Join(parts[max(0, len(parts)-2):], "/")))
	for ending, why := range rules.List("protected-ending") {
		if strings.HasSuffix(last, ending) {
			reason = why
		}
	}
	if reason != "" {
		return Access{false, reason + " (" + Visible(last) + ")", true}
	}
	return Access{}
}

// inGit judges a path by the part after .git.
func inGit(rest []string) Access {
	for i, part := range rest {
		// hooks itself and the files in it; also those of submodules (modules/NAME/hooks)
		// and of worktrees, but not a branch of that name.
		if part == "hooks" && (i == 0 || rest[0] == "modules" || rest[0] == "worktrees") {
			return Access{true, "changes git hooks, which run by themselves", true}
		}
	}
	if len(rest) > 0 && rest[len(rest)-1] == "config" {
		return Access{false, "changes git's configuration (.git/config)", true}
	}
	return Access{false, "changes git's own files", true}
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
			names = append(names, ".git", ".hermes")
			for _, name := range protected.Names() {
				if name.Text[0] == '.' && (name.Kind == "folder" || name.Kind == "path") {
					names = append(names, strings.ToLower(name.Text))
				}
			}
			slices.Sort(names)
		}
		for _, name := range names {
			exact, _ := path.Match(part, name)
			folded, _ := path.Match(strings.ToLower(part), name)
			if exact || folded {
				return Access{false, "may change " + name + ", which the pattern matches", true}
			}
		}
	}
	return Access{}
}

// device judges paths under /dev and /proc; ok is false for all others.
func device(name string) (a Access, ok bool) {
	rest, ok := strings.CutPrefix(name, "/dev/")
	first, _, _ := strings.Cut(rest, "/")
	switch reason := rules.Reason("device", first); {
	case name == "/proc/sysrq-trigger":
		return Access{Blocked: true, Reason: "restarts or stops the machine"}, true
	case !ok, rules.In("own-device", first):
		return Access{}, ok
	case reason != "":
		return Access{Reason: reason}, true
	case BlockDevice(rest):
		return Access{Blocked: true, Reason: "overwrites a block device"}, true
	}
	return Access{Reason: "writes to a device"}, true
}

// BlockDevice tells whether a name under /dev is a disk or memory, patterns too.
func BlockDevice(rest string) bool {
	return rules.Any("block-device", rest, strings.HasPrefix) || strings.ContainsAny(rest, "*?[")
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
	depth, folded := strings.Count(target, "/"), Fold(target)
	system := rules.In("system-folder", folded) || rules.Any("system-tree", folded, Under)
	if target == "/tmp" || target == "/var/tmp" {
		system = target == name
	}
	switch {
	case target == "/":
		return "deletes the root of the file system"
	case p.Home != "" && Under(Clean(p.Home), target):
		return "deletes the home folder"
	case p.Inside(target):
		return ""
	case target == "/root", depth == 2 && (Under(target, "/home") || Under(target, "/Users")):
		return "deletes the home folder"
	case system && (deep || depth == 1):
		return "deletes a system folder"
	}
	return ""
}

func Under(name, folder string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, "/"))
	return ok && folder != "" && (rest == "" || rest[0] == '/')
}

// Fold writes a path in the one spelling that file systems may take it for:
// lower case, without dots and spaces at the end of a name, without characters
// that HFS ignores, NTFS streams and short names undone.
func Fold(name string) string {
	parts := strings.Split(strings.Map(foldRune, strings.ToLower(Slashes(name))), "/")
	for i, part := range parts {
		part, _, _ = strings.Cut(part, "::$")
		part, _, _ = strings.Cut(part, ":$")
		if trimmed := strings.TrimRight(part, ". "); trimmed != "" {
			part = trimmed
		}
		if strings.HasPrefix(part, "git~") && len(part) == 5 {
			part = ".git"
		}
		parts[i] = part
	}
	return path.Clean(strings.Join(parts, "/"))
}

func foldRune(r rune) rune {
	switch {
	case r == 'ſ':
		return 's'
	case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F, r == 0xFEFF, r == 0xAD:
		return -1
	}
	return r
}

// Slashes writes a path with slashes.
func Slashes(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// Clean writes a path in its shortest form, with slashes.
func Clean(name string) string { return path.Clean(Slashes(name)) }

// OfSystem tells whether a path lies where only an administrator writes.
func OfSystem(name string) bool {
	return !Under(name, "/usr/local") && rules.Any("system-program-folder", name, Under)
}
