// Package ignore decides which files a search or a scan leaves out: by the ignore files of git and
// ripgrep, and by globs. Its results equal those of git check-ignore and rg.
package ignore

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Ignore files longer than this are not read.
const maxIgnoreFile = 4 << 20

// Verdict is the result of rules for a path.
type Verdict int

// The verdicts: no rule matches, the path is ignored, or a negated rule includes it.
const (
	NoMatch Verdict = iota
	Ignored
	Included
)

// Rules are the rules of an ignore file. The last matching rule applies.
type Rules []rule

// ParseRules parses an ignore file.
func ParseRules(text []byte) Rules {
	var rs Rules
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		if r, ok := parseRule(strings.TrimSuffix(string(line), "\r")); ok {
			rs = append(rs, r)
		}
	}
	return rs
}

func (rs Rules) verdict(rel, name string, isDir bool) Verdict {
	for i := len(rs) - 1; i >= 0; i-- {
		if !rs[i].matches(rel, name, isDir) {
			continue
		}
		if rs[i].negated {
			return Included
		}
		return Ignored
	}
	return NoMatch
}

// The kinds of ignore files, the stronger first, as ripgrep has them.
const (
	fromRgignore = iota
	fromIgnore
	fromGitignore
	fromExclude
	sources
)

var ignoreNames = [...]string{fromRgignore: ".rgignore", fromIgnore: ".ignore", fromGitignore: ".gitignore"}

// Dir holds the ignore rules of a directory and of its parents. Directories without rules are left
// out of the chain. A nil Dir has no rules.
type Dir struct {
	parent *Dir
	path   string // absolute, with slashes
	rules  [sources]Rules
	isRepo bool // git's rules of the parents do not apply here
}

// Matcher decides which paths a walk leaves out.
type Matcher struct {
	Only   *Glob  // the files wanted by the walk; nil: all files
	Global Rules  // git's core.excludesFile
	Base   string // the directory, with slashes, to which Global and Only are relative
	AsGit  bool   // only git's rules apply, and also without a repository
	Above  *Dir   // the rules above the directory in which the walk starts
}

// Skips reports whether a walk skips path in dir. It decides as ripgrep does: by Only, then by
// ignore rules, then by whether the name is hidden.
func (g *Matcher) Skips(dir *Dir, path, name string, isDir bool) bool {
	if v := g.Only.verdict(relative(g.Base, path), name, isDir); v != NoMatch {
		return v == Ignored
	}
	switch g.Verdict(dir, path, name, isDir) {
	case Ignored:
		return true
	case Included:
		return false
	}
	return name[0] == '.'
}

// Verdict returns the result of the ignore rules for path in dir.
func (g *Matcher) Verdict(dir *Dir, path, name string, isDir bool) Verdict {
	var found [sources]Verdict
	inRepo, pastRepo := false, false
	for at := dir; at != nil; at = at.parent {
		rel := relative(at.path, path)
		for source := range found {
			if pastRepo && source >= fromGitignore || found[source] != NoMatch || g.AsGit && source < fromGitignore {
				continue
			}
			found[source] = at.rules[source].verdict(rel, name, isDir)
		}
		inRepo = inRepo || at.isRepo
		pastRepo = pastRepo || at.isRepo
	}
	for source, v := range found {
		if v != NoMatch && (inRepo || g.AsGit || source < fromGitignore) {
			return v
		}
	}
	if inRepo {
		return g.Global.verdict(relative(g.Base, path), name, isDir)
	}
	return NoMatch
}

func relative(dir, path string) string {
	return strings.TrimPrefix(path[min(len(dir), len(path)):], "/")
}

// Enter reads the rules of the directory at path in dir. read returns a file in it, has reports
// whether it contains an entry. If it has no rules, Enter returns dir.
func (dir *Dir) Enter(path string, has func(name string) bool, read func(name string) []byte) *Dir {
	here := &Dir{parent: dir, path: path}
	some := false
	for source, name := range ignoreNames {
		if has(name) {
			here.rules[source] = ParseRules(read(name))
			some = true
		}
	}
	if has(".git") {
		here.isRepo, some = true, true
		here.rules[fromExclude] = ParseRules(gitExclude(path, read))
	}
	if !some {
		return dir
	}
	return here
}

// EnterEntries is [Dir.Enter] for a directory whose entries are known.
func (dir *Dir) EnterEntries(path string, entries []fs.DirEntry, read func(name string) []byte) *Dir {
	var known map[string]bool
	for _, e := range entries {
		if slices.Contains(ruleNames, e.Name()) {
			if known == nil {
				known = make(map[string]bool)
			}
			known[e.Name()] = true
		}
	}
	if known == nil {
		return dir
	}
	return dir.Enter(filepath.ToSlash(path), func(name string) bool { return known[name] }, read)
}

// Visible reports whether a walk from start would visit the file at rel below start. The
// file need not exist.
func (g *Matcher) Visible(start, rel string) bool {
	return g.Descend(start, rel, func(dir *Dir, path, name string, isDir bool) bool {
		return !g.Skips(dir, filepath.ToSlash(path), name, isDir)
	})
}

// Descend calls visit for each component of rel below start, from the top down: with the rules of
// its directory, its path, and its name. If visit returns false, so does Descend. A rel of "." has
// no components.
func (g *Matcher) Descend(start, rel string, visit func(dir *Dir, path, name string, isDir bool) bool) bool {
	if rel == "." {
		return true
	}
	rules, at := g.Above, start
	parts := strings.Split(rel, string(filepath.Separator))
	for i, name := range parts {
		here := at
		has := func(name string) bool {
			_, err := os.Lstat(filepath.Join(here, name))
			return err == nil
		}
		read := func(name string) []byte { return readRules(filepath.Join(here, filepath.FromSlash(name))) }
		rules = rules.Enter(filepath.ToSlash(here), has, read)
		at = filepath.Join(at, name)
		if !visit(rules, at, name, i < len(parts)-1) {
			return false
		}
	}
	return true
}

// gitExclude reads the rules of the repository itself. In a linked worktree, .git is a file with
// the path of the repository.
func gitExclude(path string, read func(name string) []byte) []byte {
	if text := read(".git/info/exclude"); text != nil {
		return text
	}
	dir, ok := strings.CutPrefix(string(read(".git")), "gitdir:")
	if !ok {
		return nil
	}
	dir = inDir(path, strings.TrimSpace(dir))
	if common := strings.TrimSpace(string(readRules(filepath.Join(dir, "commondir")))); common != "" {
		dir = inDir(dir, common)
	}
	return readRules(filepath.Join(dir, "info", "exclude"))
}

func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Above reads the rules of the directories above path, up to the root of the disk.
func Above(path string) *Dir {
	parent := filepath.Dir(path)
	if parent == path {
		return nil
	}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(parent, name))
		return err == nil
	}
	read := func(name string) []byte { return readRules(filepath.Join(parent, filepath.FromSlash(name))) }
	return Above(parent).Enter(filepath.ToSlash(parent), has, read)
}

// readRules reads a file of rules. If it cannot be read, it is nil.
func readRules(path string) []byte {
	text, err := safefile.Read(path, maxIgnoreFile)
	if err != nil {
		return nil
	}
	return withoutMark(text)
}

// ReadIn reads a file of rules below dir. It does not follow links out of dir. If the file cannot
// be read, it returns nil.
func ReadIn(dir *os.Root, name string) []byte {
	text, err := safefile.ReadIn(dir, filepath.FromSlash(name), maxIgnoreFile)
	if err != nil {
		return nil
	}
	return withoutMark(text)
}

// withoutMark removes a byte order mark, as git does.
func withoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\ufeff")) }

// GitConfig names the directories of a user's git settings. If they are empty, the user has none.
type GitConfig struct{ Home, XDG string }

// UserGitConfig returns the directories of the user of this process.
func UserGitConfig() GitConfig {
	home, _ := os.UserHomeDir() // an error means no settings
	xdg := os.Getenv("XDG_CONFIG_HOME")
	if xdg == "" && home != "" {
		xdg = filepath.Join(home, ".config")
	}
	return GitConfig{home, xdg}
}

// Rules reads the file named by core.excludesFile, or git's default file.
func (c GitConfig) Rules() Rules {
	if name := c.excludes(); name != "" {
		return ParseRules(readRules(name))
	}
	if c.XDG == "" {
		return nil
	}
	return ParseRules(readRules(filepath.Join(c.XDG, "git", "ignore")))
}

// excludesFile finds core.excludesFile in a git configuration.
func excludesFile(config []byte) string {
	found, section := "", ""
	for scan := bufio.NewScanner(bytes.NewReader(config)); scan.Scan(); {
		line := strings.TrimSpace(scan.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if ok && section == "core" && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			found = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return found
}

// Glob narrows a search, as rg -g does: a file must match it or, if it begins with "!",
// must not match. It is stronger than ignore rules.
type Glob struct {
	rules  Rules
	choose bool // the glob is not negated
	forms  bool // it has other characters than ASCII, so names may be in another Unicode form
}

// ParseGlob parses the glob of a search. If it is empty, the result is nil.
func ParseGlob(glob string) (*Glob, error) {
	if glob == "" {
		return nil, nil
	}
	var r rule
	text, negated := strings.CutPrefix(norm.NFC.String(glob), "!")
	r.negated = !negated // a glob includes paths, a rule ignores them
	text, r.dir = strings.CutSuffix(text, "/")
	r.whole = strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return nil, fmt.Errorf("file_glob is %q, which is empty. Leave it out for all files", glob)
	}
	if err := r.compile(text, true); err != nil {
		return nil, fmt.Errorf("file_glob %q cannot be used: %w. Nothing was searched. Write it as in *.go or src/**/*.ts", glob, err)
	}
	r.matchable = true
	forms := strings.ContainsFunc(glob, func(r rune) bool { return r >= utf8.RuneSelf })
	return &Glob{rules: Rules{r}, choose: !negated, forms: forms}, nil
}

func (g *Glob) verdict(rel, name string, isDir bool) Verdict {
	if g == nil {
		return NoMatch
	}
	if g.forms {
		rel, name = norm.NFC.String(rel), norm.NFC.String(name)
	}
	v := g.rules.verdict(rel, name, isDir)
	if v == NoMatch && g.choose && !isDir {
		return Ignored
	}
	return v
}

// ExcludesFile returns the path of the user's core.excludesFile, which has the rules for all
// repositories. If the user has not set it, it is empty; git then uses a default path.
func ExcludesFile() string { return UserGitConfig().excludes() }

func (c GitConfig) excludes() string {
	for _, file := range []string{filepath.Join(c.Home, ".gitconfig"), filepath.Join(c.XDG, "git", "config")} {
		if name := excludesFile(readRules(file)); name != "" {
			if rest, ok := strings.CutPrefix(name, "~/"); ok {
				name = filepath.Join(c.Home, rest)
			}
			return name
		}
	}
	return ""
}
