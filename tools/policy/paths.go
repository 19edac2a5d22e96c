package policy

import (
	"path"
	"strings"
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
	if _, _, ok := device(path.Clean(slashes(name))); ok {
		return a // streams are the command's own, and not those of the server
	}
	if p.Resolve != nil && !p.ownTemp(name) && a.level != Refused && !strings.ContainsAny(name, unknown+fresh+number) {
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
	if level, reason, ok := device(name); ok {
		return access{level: level, reason: reason}
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
	for _, r := range p.Roots {
		if under(name, path.Clean(slashes(r))) {
			return true
		}
	}
	return false
}

// ownTemp tells whether an absolute path lies in the session's own temporary files,
// and not in a workspace's folder below them.
func (p Scope) ownTemp(name string) bool {
	name = path.Clean(slashes(name))
	for _, dir := range p.Temp {
		if under(name, dir) && !p.inside(name) {
			return true
		}
	}
	return false
}

// isOwnState tells whether a folded path is our own configuration or state.
func (p Scope) isOwnState(folded string) bool {
	for _, home := range p.hermesHomes() {
		rest, ok := strings.CutPrefix(folded, home+"/")
		if folded == home {
			return true
		}
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(rest, "/")
		switch first {
		case "config.yaml", ".env":
			return true
		}
		if strings.HasPrefix(first, "hermes-ls.db") {
			return true
		}
	}
	return strings.HasSuffix(folded, "/.hermes/config.yaml") || strings.HasSuffix(folded, "/.hermes/.env")
}

// hermesHomes returns the folded folders of our own configuration.
func (p Scope) hermesHomes() []string {
	var out []string
	if p.HermesHome != "" {
		out = append(out, fold(path.Clean(slashes(p.HermesHome))))
	}
	if p.Home != "" {
		out = append(out, fold(path.Join(slashes(p.Home), ".hermes")))
	}
	return out
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

// device judges paths under /dev and /proc; ok is false for all others.
func device(name string) (level Level, reason string, ok bool) {
	if name == "/proc/sysrq-trigger" {
		return Refused, "restarts or stops the machine", true
	}
	rest, isDev := strings.CutPrefix(name, "/dev/")
	if !isDev {
		return Runs, "", false
	}
	switch first, _, _ := strings.Cut(rest, "/"); first {
	case "null", "zero", "full", "stdout", "stderr", "stdin", "tty", "fd", "pts", "random", "urandom":
		return Runs, "", true
	case "tcp", "udp":
		return Asks, "opens a network connection from the shell", true
	case "shm":
		return Asks, "writes outside the workspace", true
	}
	if blockDevice(rest) {
		return Refused, "overwrites a block device", true
	}
	return Asks, "writes to a device", true
}

// blockDevice tells whether a name under /dev is a disk or memory, patterns too.
func blockDevice(rest string) bool {
	if beginsOf("block-device", rest) {
		return true
	}
	if len(rest) >= 3 && rest[1] == 'd' && strings.IndexByte("shvmf", rest[0]) >= 0 || strings.HasPrefix(rest, "xvd") {
		return true
	}
	return strings.ContainsAny(rest, "*?[")
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
	whole := target != name
	switch {
	case target == "/":
		return "deletes the root of the file system"
	case p.Home != "" && under(path.Clean(slashes(p.Home)), target):
		return "deletes the home folder"
	case p.inside(target):
		return ""
	case target == "/root", strings.Count(target, "/") == 2 && (under(target, "/home") || under(target, "/Users")):
		return "deletes the home folder"
	case systemFolder(target, whole) && (deep || strings.Count(target, "/") == 1):
		return "deletes a system folder"
	}
	return ""
}

// systemFolder tells whether a folder belongs to the system.
func systemFolder(name string, whole bool) bool {
	if name == "/tmp" || name == "/var/tmp" {
		return !whole
	}
	folded := fold(name)
	for tree := range rules().lists["system-tree"] {
		if under(folded, tree) {
			return true
		}
	}
	return in("system-folder", folded)
}

func under(name, folder string) bool {
	if folder == "" {
		return false
	}
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// fold writes a path in the one spelling that file systems may take it for:
// lower case, without dots and spaces at the end of a name, without characters
// that HFS ignores, NTFS streams and short names undone.
func fold(name string) string {
	if plainPath(name) {
		return name
	}
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

// plainPath tells whether folding would change nothing, for speed.
func plainPath(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '/', c == '-', c == '_':
		case c == '.' && i+1 < len(name) && name[i+1] != '/' && name[i+1] != '.':
		default:
			return false
		}
	}
	return true
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
