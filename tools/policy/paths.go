package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/protected"
	"github.com/hermes-ls/hermes-ls/tools/policy/rules"
)

// Write judges the writing of one file. The path is absolute, its links already
// resolved as far as they could be; roots are the workspace's folders and
// hermesHome is our own configuration.
func Write(name string, roots []string, hermesHome string) Verdict {
	key := "write " + Escape(name)
	v := Verdict{Commands: []string{key}}
	p := Scope{Roots: roots, HermesHome: hermesHome}
	a := p.written(name)
	v.Level, v.Reason, v.EveryMode = a.level, a.reason, a.settings
	if v.Level == Asks {
		v.Keys = []string{key}
	}
	return v
}

// access is a judgement of the writing of one path.
type access struct {
	level    Level
	reason   string
	settings bool // it configures or runs something by itself
}

// written judges the writing of an absolute path.
func (p Scope) written(name string) access {
	a := p.classify(name)
	if _, ok := device(path.Clean(slashes(name))); ok {
		return a // streams are the command's own, and not those of the server
	}
	if p.Resolve != nil && !p.ownTemp(name) && a.level != Refused && !marked(name) {
		if real := p.Resolve(name); real != name {
			if b := p.classify(real); b.level > a.level || b.level == a.level && b.settings {
				return b
			}
		}
	}
	return a
}

func (p Scope) classify(name string) access {
	if strings.HasPrefix(name, fresh) {
		return access{}
	}
	name = path.Clean(slashes(name))
	if a, ok := device(name); ok {
		return a
	}
	folded := fold(name)
	if p.isOwnState(folded) {
		return access{level: Refused, reason: "changes the configuration of hermes-ls"}
	}
	if level, reason := special(folded); level != Runs {
		return access{level, reason, true}
	}
	switch {
	case strings.HasPrefix(name, unknown):
		return access{level: Asks, reason: "writes to a place that cannot be seen"}
	case under(folded, "/etc"), under(folded, "/private/etc"):
		return access{level: Asks, reason: "writes to /etc"}
	case !p.inside(name) && !p.ownTemp(name):
		return access{level: Asks, reason: "writes outside the workspace"}
	}
	return access{}
}

// inside tells whether an absolute path lies in one of the workspace's folders.
func (p Scope) inside(name string) bool {
	return slices.ContainsFunc(p.Roots, func(root string) bool { return under(name, cleanPath(root)) })
}

// ownTemp tells whether an absolute path lies in the session's own temporary files,
// and not in a workspace's folder below them.
func (p Scope) ownTemp(name string) bool {
	name = cleanPath(name)
	return slices.ContainsFunc(p.Temp, func(dir string) bool { return under(name, dir) }) && !p.inside(name)
}

// isOwnState tells whether a folded path is our own configuration or state.
func (p Scope) isOwnState(folded string) bool {
	for _, home := range []string{p.HermesHome, path.Join(slashes(p.Home), ".hermes")} {
		rest, ok := strings.CutPrefix(folded+"/", fold(cleanPath(home))+"/")
		first, _, _ := strings.Cut(rest, "/")
		if ok && path.IsAbs(slashes(home)) && (contains("config.yaml .env", first) || first == "" || strings.HasPrefix(first, "hermes-ls.db")) {
			return true
		}
	}
	return strings.HasSuffix(folded, "/.hermes/config.yaml") || strings.HasSuffix(folded, "/.hermes/.env")
}

// special judges paths that configure or run something wherever they lie.
func special(folded string) (Level, string) {
	parts := strings.Split(folded, "/")
	for i, part := range parts {
		if part == ".git" {
			return inGit(parts[i+1:])
		}
		if reason := rules.Reason("protected-folder", part); reason != "" {
			return Asks, reason + " (" + visible(part) + ")"
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
		return Asks, reason + " (" + visible(last) + ")"
	}
	return Runs, ""
}

// inGit judges a path by the part after .git.
func inGit(rest []string) (Level, string) {
	for i, part := range rest {
		// hooks itself and the files in it; also those of submodules (modules/NAME/hooks)
		// and of worktrees, but not a branch of that name.
		if part == "hooks" && (i == 0 || rest[0] == "modules" || rest[0] == "worktrees") {
			return Refused, "changes git hooks, which run by themselves"
		}
	}
	if len(rest) > 0 && rest[len(rest)-1] == "config" {
		return Asks, "changes git's configuration (.git/config)"
	}
	return Asks, "changes git's own files"
}

// matches judges a pattern that may stand for a file that asks. Only a pattern that begins
// with a dot matches names that do.
func matches(pattern string) access {
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
				return access{Asks, "may change " + name + ", which the pattern matches", true}
			}
		}
	}
	return access{}
}

// device judges paths under /dev and /proc; ok is false for all others.
func device(name string) (a access, ok bool) {
	rest, ok := strings.CutPrefix(name, "/dev/")
	first, _, _ := strings.Cut(rest, "/")
	switch reason := rules.Reason("device", first); {
	case name == "/proc/sysrq-trigger":
		return access{level: Refused, reason: "restarts or stops the machine"}, true
	case !ok, rules.In("own-device", first):
		return access{}, ok
	case reason != "":
		return access{level: Asks, reason: reason}, true
	case blockDevice(rest):
		return access{level: Refused, reason: "overwrites a block device"}, true
	}
	return access{level: Asks, reason: "writes to a device"}, true
}

// blockDevice tells whether a name under /dev is a disk or memory, patterns too.
func blockDevice(rest string) bool {
	return rules.Begins("block-device", rest) || strings.ContainsAny(rest, "*?[")
}

// protects returns why an absolute path must not be deleted or replaced. If it may be, it
// returns "".
//
// deep tells that all below it goes as well, so that a folder within a system
// folder counts as one.
func (p Scope) protects(name string, deep bool) string {
	name = path.Clean(slashes(name))
	target := name
	// A pattern that matches all of a folder counts as the folder.
	for strings.Contains(path.Base(target), "*") && strings.Trim(path.Base(target), "*.?[]!") == "" && target != "/" {
		target = path.Dir(target)
	}
	depth, folded := strings.Count(target, "/"), fold(target)
	system := rules.In("system-folder", folded) || rules.Any("system-tree", func(tree string) bool { return under(folded, tree) })
	if target == "/tmp" || target == "/var/tmp" {
		system = target == name
	}
	switch {
	case target == "/":
		return "deletes the root of the file system"
	case p.Home != "" && under(cleanPath(p.Home), target):
		return "deletes the home folder"
	case p.inside(target):
		return ""
	case target == "/root", depth == 2 && (under(target, "/home") || under(target, "/Users")):
		return "deletes the home folder"
	case system && (deep || depth == 1):
		return "deletes a system folder"
	}
	return ""
}

func under(name, folder string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, "/"))
	return ok && folder != "" && (rest == "" || rest[0] == '/')
}

// fold writes a path in the one spelling that file systems may take it for:
// lower case, without dots and spaces at the end of a name, without characters
// that HFS ignores, NTFS streams and short names undone.
func fold(name string) string {
	parts := strings.Split(strings.Map(foldRune, strings.ToLower(slashes(name))), "/")
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
